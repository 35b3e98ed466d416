/** What all components work with. */

import type { Signal } from "@preact/signals";
import { createContext } from "preact";
import { useContext } from "preact/hooks";
import type { Api } from "./api";
import type { Catalog } from "./catalog";
import type { Talk } from "./talk";

export interface Desk {
  readonly api: Api;
  readonly catalog: Catalog;
  readonly talk: Talk;
  /** The message that is being written. */
  readonly draft: Signal<string>;
}

export const DeskContext = createContext<Desk | null>(null);

export function useDesk(): Desk {
  const desk = useContext(DeskContext);
  if (desk === null) throw new Error("A component was used outside the desk.");
  return desk;
}
