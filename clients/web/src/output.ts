/** The whole output of a call, fetched in pieces and given out as blocks of lines. */

import type { Api } from "./api";

export const BLOCK_LINES = 500;
export const PIECE_BYTES = 1 << 20; // an answer through a function address must stay below 6 MB

/** Calls `onBlocks` with all blocks so far after each piece. Lines keep their ends, so the blocks joined are the output. */
export async function fetchOutput(
  api: Pick<Api, "bytes">,
  url: string,
  total: number,
  onBlocks: (blocks: readonly string[]) => void,
  signal: AbortSignal,
): Promise<void> {
  const decoder = new TextDecoder("utf-8", { ignoreBOM: true });
  let blocks: string[] = [];
  for (let offset = 0; offset < total; offset += PIECE_BYTES) {
    const bytes = await api.bytes(url, signal, { offset, limit: PIECE_BYTES });
    const last = offset + PIECE_BYTES >= total;
    blocks = extend(blocks, decoder.decode(bytes, { stream: !last }));
    onBlocks(blocks);
  }
}

function extend(blocks: readonly string[], text: string): string[] {
  return [...blocks.slice(0, -1), ...splitBlocks((blocks.at(-1) ?? "") + text)];
}

/** Text as blocks of 500 lines; the last may be shorter. */
export function splitBlocks(text: string): string[] {
  const blocks: string[] = [];
  let start = 0;
  let lines = 0;
  for (let at = text.indexOf("\n"); at >= 0; at = text.indexOf("\n", at + 1)) {
    lines += 1;
    if (lines % BLOCK_LINES > 0) continue;
    blocks.push(text.slice(start, at + 1));
    start = at + 1;
  }
  if (start < text.length) blocks.push(text.slice(start));
  return blocks;
}
