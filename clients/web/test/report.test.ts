import { expect, test } from "vitest";
import { PIECE_BYTES } from "../src/output";
import { fetchReport } from "../src/report";

/** An interface that gives out ranges of these bytes, and the offsets it was asked for. */
function serving(bytes: Uint8Array<ArrayBuffer>) {
  const asked: number[] = [];
  const api = {
    async bytes(_url: string, _signal: AbortSignal, range?: { offset: number; limit: number }): Promise<ArrayBuffer> {
      const { offset, limit } = range ?? { offset: 0, limit: bytes.length };
      asked.push(offset);
      return bytes.slice(offset, offset + limit).buffer;
    },
  };
  return { api, asked };
}

const told = (name: string) => new TextEncoder().encode(JSON.stringify({ elements: [{ name }] }));
const signal = new AbortController().signal;

test("a report longer than one piece is put together, characters cut in two included", async () => {
  const name = "é".repeat(PIECE_BYTES);
  const { api, asked } = serving(told(name));
  expect((await fetchReport(api, "/api/results/a", signal)).elements[0]?.name === name).toBe(true);
  expect(asked).toEqual([0, PIECE_BYTES, 2 * PIECE_BYTES]);
});

test("a report that fills its last piece ends with an empty one", async () => {
  const name = "x".repeat(PIECE_BYTES - told("").length);
  const { api, asked } = serving(told(name));
  expect((await fetchReport(api, "/api/results/a", signal)).elements[0]?.name === name).toBe(true);
  expect(asked).toEqual([0, PIECE_BYTES]);
});
