import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { abandon, newRun, reduce, type RunState, type ToolItem } from "../src/reduce";
import type { Chunk, ChunkType, LoggedEvent } from "../src/wire";

const CODE = "import ifcopenshell\nfor door in model.by_type('IfcDoor'):\n    door.Name = 'T'\n";
const CALL = JSON.stringify({ code: CODE, summary: "Rename the doors." });

function chunk(type: ChunkType, content = "", metadata: Record<string, unknown> = {}): Chunk {
  return { type, content, metadata };
}

const meta = (kind: string, content: string, facts: Record<string, unknown> = {}) =>
  chunk("Metadata", content, { kind, ...facts });
const model = (turn: number) => meta("model", "Asking", { vendor: "v", model: "m", label: "M", rehearsal: false, turn });
const delta = (content: string) => chunk("ToolInputDelta", content, { call_id: "c1", tool: "execute_task_automation" });
const host = (state: string) =>
  meta("host", "news", { host_id: "h", online: state !== "gone", application: { name: "IFC", version: "1" }, state, busy_since: 5 });
const result = (facts: Record<string, unknown> = {}) =>
  meta("tool_result", "2 changed", {
    call_id: "c1",
    tool: "execute_task_automation",
    ok: true,
    outcome: "committed",
    summary: "2 changed",
    script_url: "/api/scripts/abc",
    ...facts,
  });

const LOG: readonly Chunk[] = [
  meta("run_started", "Started", { run_id: "r1", session_id: "s1", mode: "auto", message: "Rename", title: "Doors" }),
  model(1),
  chunk("Thinking", "Let me "),
  chunk("Thinking", "see."),
  chunk("Message", "I will "),
  chunk("Message", "rename them."),
  ...(CALL.match(/.{1,7}/g) ?? []).map(delta),
  chunk("ToolCall", CALL, { call_id: "c1", tool: "execute_task_automation", script_sha256: "abc", script_url: null, diff: "" }),
  meta("waiting", "Waiting for the host", { reason: "host", call_id: "c1", since: 4, timeout_s: 600 }),
  host("working"),
  host("idle"),
  result(),
  model(2),
  chunk("Message", "Done: 2 doors renamed."),
  chunk("AgenticUsage", "tokens", { usage: {} }),
  chunk("Complete", "Done: 2 doors renamed.", {
    usage: null,
    counters: { turns: 2, scripts: 1, fix: 0, iteration: 1 },
    changed: { added: 0, modified: 2, deleted: 0 },
    seconds: 9,
    run_id: "r1",
  }),
];

const events = (chunks: readonly Chunk[]): LoggedEvent[] => chunks.map((each, index) => ({ seq: index + 1, chunk: each }));
const play = (chunks: readonly Chunk[]): RunState => events(chunks).reduce(reduce, newRun("r1"));
const upTo = (type: ChunkType) => LOG.slice(0, LOG.findIndex((each) => each.type === type) + 1);
const card = (state: RunState): ToolItem => state.items.find((item) => item.kind === "tool") as ToolItem;
const kinds = (state: RunState) => state.items.map((item) => item.kind);

describe("a run", () => {
  test("is all that its log says", () => {
    const state = play(LOG);
    expect(state).toMatchObject({ sessionId: "s1", title: "Doors", message: "Rename", waiting: null, lastSeq: LOG.length });
    expect(kinds(state)).toEqual(["thinking", "message", "tool", "message"]);
    expect(state.items[0]).toMatchObject({ text: "Let me see." });
    expect(state.items[1]).toMatchObject({ text: "I will rename them." });
    expect(card(state)).toMatchObject({ stage: "done", call: { code: CODE }, scriptUrl: "/api/scripts/abc" });
    expect(state.end).toMatchObject({ kind: "complete", changed: { modified: 2 }, seconds: 9 });
  });

  test("is the same when parts of the log come again", () => {
    const whole = play(LOG);
    const again = fc.array(fc.nat({ max: LOG.length }), { maxLength: 6 });
    fc.assert(
      fc.property(again, (drops) => {
        let state = newRun("r1");
        for (const stop of [...drops, LOG.length]) {
          state = events(LOG).slice(0, stop).reduce(reduce, state); // each reconnection replays from the first event
        }
        expect(state).toEqual(whole);
      }),
    );
  });

  test("never changes a state it was made from", () => {
    const frozen = events(LOG).reduce((state, event) => Object.freeze(reduce(state, event)), Object.freeze(newRun("r1")));
    expect(frozen).toEqual(play(LOG));
  });
});

describe("a tool card", () => {
  test("shows the script while it is written", () => {
    const cut = LOG.findIndex((each) => each.type === "ToolCall") - 4;
    const state = play(LOG.slice(0, cut));
    expect(card(state).stage).toBe("writing");
    expect(CODE.startsWith(card(state).written.fields.get("code")?.text ?? "-")).toBe(true);
  });

  test("is queued once the call is whole, and running once the host says so", () => {
    const queued = play(upTo("ToolCall"));
    expect(card(queued).stage).toBe("queued");
    expect(card(reduce(queued, { seq: 100, chunk: host("working") })).stage).toBe("running");
    expect(card(reduce(queued, { seq: 100, chunk: host("idle") })).stage).toBe("queued");
  });

  test("stays running when the host falls idle before its result is here", () => {
    const state = play([...upTo("ToolCall"), host("working"), host("idle")]);
    expect(card(state).stage).toBe("running");
  });

  test("appears without deltas, and for a late result of an earlier run", () => {
    const state = play([model(1), result({ call_id: "old", late: true })]);
    expect(card(state)).toMatchObject({ callId: "old", stage: "done", result: { late: true } });
  });

  test("is marked unanswered when the run ends without a result", () => {
    const state = play([...upTo("ToolCall"), chunk("Error", "Stopped.", { code: "cancelled", retryable: false })]);
    expect(card(state).stage).toBe("unanswered");
    expect(state.end).toMatchObject({ kind: "error", code: "cancelled", text: "Stopped." });
  });
});

describe("a turn that is asked again", () => {
  test("drops what it had written, keeps what was settled, and says so", () => {
    const state = play([model(1), chunk("Message", "Half an ans"), delta('{"code": "a'), model(1), chunk("Message", "Whole.")]);
    expect(kinds(state)).toEqual(["marker", "message"]);
    expect(state.items[1]).toMatchObject({ text: "Whole." });
  });

  test("leaves earlier turns and dispatched calls alone", () => {
    const state = play([...upTo("ToolCall"), result(), model(2), chunk("Message", "Hal"), model(2)]);
    expect(kinds(state)).toEqual(["thinking", "message", "tool", "marker"]);
  });

  test("says nothing when nothing had been written", () => {
    expect(play([model(1), model(1)]).items).toEqual([]);
  });
});

describe("the end", () => {
  test("adds the final text only where it wasn't streamed", () => {
    expect(kinds(play([model(1), chunk("Message", "Hi. "), chunk("Complete", "Hi.")]))).toEqual(["message"]);
    expect(play([model(1), chunk("Complete", "Hi.")]).items).toMatchObject([{ kind: "message", text: "Hi." }]);
  });

  test("that can't be read is told in words, but never replaces a real one", () => {
    expect(abandon(newRun("r1"), "gone").end).toMatchObject({ kind: "error", text: "gone" });
    expect(abandon(play(LOG), "gone").end).toMatchObject({ kind: "complete" });
  });
});

test("what a model was waited for is over when it writes", () => {
  const waiting = play([model(1), meta("waiting", "Overloaded, again in 8 s", { reason: "model", since: 1, timeout_s: 8 })]);
  expect(waiting.waiting).toMatchObject({ text: "Overloaded, again in 8 s" });
  expect(reduce(waiting, { seq: 9, chunk: chunk("Message", "Hi") }).waiting).toBeNull();
});

test("a kind of news that this page doesn't know is shown as its sentence", () => {
  expect(play([meta("weather", "It rains.")]).items).toMatchObject([{ kind: "marker", text: "It rains." }]);
});

test("a conversation that was shortened says so, and nobody waits for that any more", () => {
  const waiting = meta("waiting", "The model sums it up", { reason: "compaction", since: null, timeout_s: null });
  expect(play([waiting]).waiting).toMatchObject({ reason: "compaction", since: null });
  const state = play([waiting, meta("context_compacted", "Shortened.", { tokens_before: 9, tokens_after: 2 })]);
  expect(state).toMatchObject({ waiting: null, items: [{ kind: "marker", text: "Shortened." }] });
});

describe("a limit", () => {
  const limits = (text: string) => meta("limits", text, { limit: "seconds", used: 1, cap: 1, counters: {} });

  test("is told once a run, however many calls it forbids", () => {
    const state = play([model(1), limits("60 of 60 s"), result({ call_id: "a" }), limits("61 of 60 s"), result({ call_id: "b" })]);
    expect(kinds(state)).toEqual(["marker", "tool", "tool"]);
    expect(state.items[0]).toMatchObject({ text: "60 of 60 s" });
  });

  test("is kept with the end that it brought", () => {
    expect(play([chunk("Complete", "So far.", { limit: "seconds" })]).end).toMatchObject({ limit: "seconds" });
    expect(play(LOG).end).toMatchObject({ limit: null });
  });
});

test("a call keeps what its edits changed", () => {
  const facts = { call_id: "c1", tool: "execute_task_automation", script_url: null };
  const call = JSON.stringify({ edits: [{ start_line: 1, end_line: 1, replacement: "b\n" }], summary: "Mend." });
  expect(card(play([chunk("ToolCall", call, { ...facts, diff: "--- before" }), result()]))).toMatchObject({ diff: "--- before" });
  expect(card(play([chunk("ToolCall", call, facts)]))).toMatchObject({ diff: "" });
});
