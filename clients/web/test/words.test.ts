import { describe, expect, test } from "vitest";
import { newRun, reduce } from "../src/reduce";
import type { Chunk, Counts, ToolResult } from "../src/wire";
import { costLine, countsLine, duration, statusOf, tokensLine, valueText, verdictOn } from "../src/words";

const result = (outcome: string | null, tool: string, ok = true, changed: Counts | null = null) =>
  ({ outcome, tool, ok, changed }) as ToolResult;

describe("the verdict on a call", () => {
  test("tells a read from a change that was taken back", () => {
    expect(verdictOn(result("rolled_back", "execute_data_collection")).word).toBe("Read");
    expect(verdictOn(result("rolled_back", "execute_task_automation")).word).toBe("Rolled back");
    expect(verdictOn(result("failed", "execute_data_collection", false)).word).toBe("Failed");
  });

  test("never claims to know what isn't known", () => {
    expect(verdictOn(result("unknown", "execute_task_automation", false)).more).toBe("it may or may not have been applied");
  });

  test("doesn't call a commit that changed nothing a change", () => {
    const none = { added: 0, modified: 0, deleted: 0 };
    expect(verdictOn(result("committed", "execute_task_automation", true, none)).more).toBe("no element was changed");
    expect(verdictOn(result("committed", "execute_task_automation", true, { ...none, added: 1 })).more).toBe(
      "the document was changed",
    );
  });

  test("says an outcome it has no word for as it is", () => {
    expect(verdictOn(result("too_late", "execute_task_automation", false))).toMatchObject({ word: "Too late", tone: "bad" });
    expect(verdictOn(result(null, "execute_task_automation", false)).word).toBe("Not run");
  });
});

describe("the status line", () => {
  const play = (...chunks: Chunk[]) =>
    chunks.reduce((state, chunk, index) => reduce(state, { seq: index + 1, chunk }), newRun("r"));
  const model: Chunk = { type: "Metadata", content: "", metadata: { kind: "model", turn: 1 } };
  const delta = (content: string): Chunk => ({ type: "ToolInputDelta", content, metadata: { call_id: "c", tool: "t" } });

  test("doesn't change with every token", () => {
    const one = statusOf(play(model, delta('{"code": "a')));
    expect(one).toBe("Writing script");
    expect(statusOf(play(model, delta('{"code": "a'), delta("\\nb\\nc")))).toBe(one);
  });

  test("says what was changed at the end", () => {
    const changed = { added: 1, modified: 42, deleted: 0 };
    expect(statusOf(play(model, { type: "Complete", content: "", metadata: { changed } }))).toBe("Done: 1 added, 42 changed");
  });
});

test("a run that ended at a limit isn't said to be done", () => {
  const ended = (metadata: Record<string, unknown>) =>
    statusOf(reduce(newRun("r"), { seq: 1, chunk: { type: "Complete", content: "", metadata } }));
  expect(ended({ limit: "fix", changed: { added: 0, modified: 2, deleted: 0 } })).toBe("Limit reached: fixes, 2 changed");
  expect(ended({ limit: "a new one" })).toBe("Limit reached: a new one");
});

test("figures are said plainly", () => {
  expect(countsLine({ added: 0, modified: 0, deleted: 0 })).toBe("nothing was changed");
  expect([7, 134, 3723].map(duration)).toEqual(["0:07", "2:14", "1:02:03"]);
  const usage = { input_uncached: 1000, cache_read: 8000, cache_write: 1000, output: 1500, reasoning: 500, cost_usd: null };
  expect(tokensLine(usage)).toBe("12k tokens (80% cached)");
  expect(tokensLine({ ...usage, cache_read: 0 })).toBe("4,000 tokens");
  expect([costLine(0.0123), costLine(1.5)]).toEqual(["$0.012", "$1.50"]);
  expect([null, "", 0, 2.100000001, true, ["a"]].map(valueText)).toEqual(["none", "none", "0", "2.1", "true", '["a"]']);
});
