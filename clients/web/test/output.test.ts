import { describe, expect, test } from "vitest";
import { fetchOutput, splitBlocks } from "../src/output";

describe("a long output", () => {
  test("is cut into blocks of 500 lines that join to the same text", () => {
    const text = Array.from({ length: 1234 }, (_, index) => `line ${index}`).join("\n");
    const blocks = splitBlocks(text);
    expect(blocks.map((block) => block.split("\n").filter(Boolean).length)).toEqual([500, 500, 234]);
    expect(blocks.join("")).toBe(text);
  });

  test("is fetched in pieces, exact also where a piece ends inside a character", async () => {
    const text = "wändé 😀\n".repeat(200_000);
    const bytes = new TextEncoder().encode(text);
    const asked: number[] = [];
    let shown: readonly string[] = [];
    const api = {
      bytes: async (_url: string, _signal: AbortSignal, range?: { offset: number; limit: number }) => {
        asked.push(range?.offset ?? -1);
        return bytes.slice(range?.offset, (range?.offset ?? 0) + (range?.limit ?? 0)).buffer;
      },
    };
    await fetchOutput(api, "/api/results/x", bytes.length, (blocks) => (shown = blocks), new AbortController().signal);
    expect(asked).toEqual([0, 1_048_576, 2_097_152]);
    expect(shown.join("")).toBe(text);
    expect(shown.length).toBe(400);
  });
});
