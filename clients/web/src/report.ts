/** The whole report of a call: its chunk holds only the first rows. */

import type { Api } from "./api";
import { PIECE_BYTES } from "./output";
import type { Report } from "./wire";

/** Fetched in pieces, as the server gives a stored result; the piece that isn't full is the last. */
export async function fetchReport(api: Pick<Api, "bytes">, url: string, signal: AbortSignal): Promise<Report> {
  const decoder = new TextDecoder();
  let text = "";
  for (let offset = 0, full = true; full; offset += PIECE_BYTES) {
    const bytes = await api.bytes(url, signal, { offset, limit: PIECE_BYTES });
    full = bytes.byteLength === PIECE_BYTES;
    text += decoder.decode(bytes, { stream: full });
  }
  return JSON.parse(text) as Report;
}
