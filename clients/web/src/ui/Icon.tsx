import type { IconName } from "../words";

type Name = IconName | "menu" | "plus" | "send" | "copy" | "down" | "pencil" | "dot" | "ring" | "minus";

const PATHS: Record<Name, string> = {
  check: "M3 8.5 6.5 12 13 4.5",
  cross: "M4 4l8 8M12 4l-8 8",
  back: "M6 3 2.5 6.5 6 10M3 6.5h6a4 4 0 0 1 0 8H7",
  eye: "M1.5 8S4 3.5 8 3.5 14.5 8 14.5 8 12 12.5 8 12.5 1.5 8 1.5 8zM8 6a2 2 0 1 0 0 4 2 2 0 0 0 0-4z",
  question: "M5.5 5.5a2.5 2.5 0 1 1 3.6 2.3C8.3 8.2 8 8.7 8 9.8M8 12.6v.1",
  clock: "M8 2a6 6 0 1 0 0 12A6 6 0 0 0 8 2zM8 4.5V8l2.5 1.5",
  stop: "M4 4h8v8H4z",
  menu: "M2 4h12M2 8h12M2 12h12",
  plus: "M8 3v10M3 8h10",
  minus: "M3 8h10",
  send: "M8 13V3M3.5 7.5 8 3l4.5 4.5",
  copy: "M5.5 5.5h8v8h-8zM10.5 5.5v-3h-8v8h3",
  down: "M8 3v10M3.5 8.5 8 13l4.5-4.5",
  pencil: "M3 13l.8-3.2L11 2.6l2.4 2.4-7.2 7.2z",
  dot: "M8 4.5a3.5 3.5 0 1 0 0 7 3.5 3.5 0 0 0 0-7z",
  ring: "M8 4.5a3.5 3.5 0 1 0 0 7 3.5 3.5 0 0 0 0-7z",
};

/** A small drawing beside a word, never instead of one: it is hidden from readers. */
export function Icon({ name }: { name: Name }) {
  return (
    <svg class={`icon icon-${name}`} viewBox="0 0 16 16" width="16" height="16" aria-hidden="true" focusable="false">
      <path d={PATHS[name]} />
    </svg>
  );
}
