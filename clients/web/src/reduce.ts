/**
 * The page as a function of the run's log: `reduce(state, event)` is pure, and an event that was already applied
 * changes nothing, so live stream, replay and reconnection are one code path.
 */

import { EMPTY_INPUT, feed, type PartialInput } from "./partial";
import type { Chunk, Counts, HostFacts, LoggedEvent, Mode, ModelFacts, ToolInput, ToolResult, Usage, Waiting } from "./wire";

export interface TextItem {
  readonly kind: "thinking" | "message";
  readonly key: string;
  readonly text: string;
}

export interface MarkerItem {
  readonly kind: "marker";
  readonly key: string;
  readonly text: string;
}

export type Stage = "writing" | "queued" | "running" | "done" | "unanswered";

export interface ToolItem {
  readonly kind: "tool";
  readonly key: string;
  readonly callId: string;
  readonly tool: string;
  readonly stage: Stage;
  /** What the model has written so far; `call` replaces it once the call is whole. */
  readonly written: PartialInput;
  readonly call: ToolInput | null;
  readonly scriptUrl: string | null;
  /** What the call's edits changed in the script, as a unified diff; empty for a script that was sent whole. */
  readonly diff: string;
  readonly result: ToolResult | null;
}

export type Item = TextItem | MarkerItem | ToolItem;

export interface Counters {
  readonly turns: number;
  readonly scripts: number;
  readonly fix: number;
  readonly iteration: number;
}

export type End =
  | {
      readonly kind: "complete";
      readonly usage: Usage | null;
      readonly counters: Counters | null;
      readonly changed: Counts | null;
      readonly seconds: number | null;
      /** Name of the limit that ended the work. */
      readonly limit: string | null;
    }
  | { readonly kind: "error"; readonly text: string; readonly code: string; readonly retryable: boolean };

export interface RunState {
  readonly id: string;
  readonly sessionId: string | null;
  readonly title: string | null;
  readonly message: string;
  readonly mode: Mode;
  readonly lastSeq: number;
  readonly model: ModelFacts | null;
  readonly host: HostFacts | null;
  readonly waiting: (Waiting & { readonly text: string }) | null;
  readonly items: readonly Item[];
  /** How many items there were when the present turn began. */
  readonly turnStart: number;
  readonly end: End | null;
}

export function newRun(id: string, message = ""): RunState {
  return {
    id,
    sessionId: null,
    title: null,
    message,
    mode: "auto",
    lastSeq: 0,
    model: null,
    host: null,
    waiting: null,
    items: [],
    turnStart: 0,
    end: null,
  };
}

export function reduce(state: RunState, { seq, chunk }: LoggedEvent): RunState {
  if (seq <= state.lastSeq) return state;
  return { ...apply(state, chunk, seq), lastSeq: seq };
}

function apply(state: RunState, chunk: Chunk, seq: number): RunState {
  switch (chunk.type) {
    case "Metadata":
      return applyMetadata(state, chunk, seq);
    case "Thinking":
      return appendText(unblocked(state), "thinking", chunk.content, seq);
    case "Message":
      return appendText(unblocked(state), "message", chunk.content, seq);
    case "ToolInputDelta":
      return updateTool(unblocked(state), chunk, seq, (tool) => ({
        ...tool,
        written: feed(tool.written, chunk.content),
      }));
    case "ToolCall":
      return updateTool(state, chunk, seq, (tool) => ({
        ...tool,
        stage: "queued",
        call: JSON.parse(chunk.content) as ToolInput,
        scriptUrl: (chunk.metadata.script_url as string | null | undefined) ?? null,
        diff: (chunk.metadata.diff as string | undefined) ?? "",
      }));
    case "Complete":
      return complete(state, chunk, seq);
    case "Error":
      return fail(state, chunk);
    case "AgenticUsage":
      return state; // the tokens of a run without Complete: for accounts, not for this page
  }
}

/** Whatever the model was waited for is over when it writes. */
function unblocked(state: RunState): RunState {
  return state.waiting === null ? state : { ...state, waiting: null };
}

function applyMetadata(state: RunState, chunk: Chunk, seq: number): RunState {
  const facts: unknown = chunk.metadata;
  switch (chunk.metadata.kind) {
    case "run_started":
      return startRun(state, chunk.metadata);
    case "model":
      return startTurn(state, facts as ModelFacts, seq);
    case "host":
      return hostNews(state, facts as HostFacts);
    case "waiting":
      return { ...state, waiting: { ...(facts as Waiting), text: chunk.content } };
    case "tool_result":
      return settle(state, facts as ToolResult, seq);
    case "limits":
      return addMarker(state, chunk.content, "limit");
    case "context_compacted":
      return addMarker(unblocked(state), chunk.content, `m${seq}`);
    case "handover":
      return state; // nothing that a reader of the conversation must know
    default:
      return addMarker(state, chunk.content, `m${seq}`);
  }
}

function startRun(state: RunState, facts: Chunk["metadata"]): RunState {
  return {
    ...state,
    id: String(facts.run_id),
    sessionId: String(facts.session_id),
    title: (facts.title as string | undefined) ?? null,
    message: (facts.message as string | undefined) ?? state.message,
    mode: (facts.mode as Mode | undefined) ?? "auto",
  };
}

/** A turn that begins a second time was cut off: what it had written will come again, so it goes. */
function startTurn(state: RunState, model: ModelFacts, seq: number): RunState {
  const next = { ...state, model, waiting: null };
  if (state.model?.turn !== model.turn) return { ...next, turnStart: state.items.length };
  const settled = state.items.filter((item, index) => index < state.turnStart || !isUnsettled(item));
  if (settled.length === state.items.length) return next;
  const text = "The answer was cut off and is being asked for again.";
  return addItem({ ...next, items: settled }, { kind: "marker", key: `m${seq}`, text });
}

function isUnsettled(item: Item): boolean {
  return item.kind === "thinking" || item.kind === "message" || (item.kind === "tool" && item.stage === "writing");
}

function hostNews(state: RunState, host: HostFacts): RunState {
  const next = { ...state, host, waiting: host.state === "working" ? null : state.waiting };
  if (host.state !== "working") return next;
  return { ...next, items: state.items.map((item) => (isQueued(item) ? { ...item, stage: "running" } : item)) };
}

function isQueued(item: Item): item is ToolItem {
  return item.kind === "tool" && item.stage === "queued";
}

function settle(state: RunState, result: ToolResult, seq: number): RunState {
  const metadata = { call_id: result.call_id, tool: result.tool };
  const next = updateTool(state, { metadata }, seq, (tool) => ({
    ...tool,
    stage: "done",
    result,
    scriptUrl: result.script_url ?? tool.scriptUrl,
  }));
  return { ...next, waiting: null };
}

function appendText(state: RunState, kind: TextItem["kind"], text: string, seq: number): RunState {
  const last = state.items.at(-1);
  if (last?.kind !== kind || state.items.length === state.turnStart) {
    return text ? addItem(state, { kind, key: `t${seq}`, text }) : state;
  }
  return { ...state, items: [...state.items.slice(0, -1), { ...last, text: last.text + text }] };
}

/** A limit is told of each call that it forbids; a reader needs to hear it once a run. */
function addMarker(state: RunState, text: string, key: string): RunState {
  if (!text || state.items.some((item) => item.key === key)) return state;
  return addItem(state, { kind: "marker", key, text });
}

function addItem(state: RunState, item: Item): RunState {
  return { ...state, items: [...state.items, item] };
}

/** Changes the card of the call that the chunk names, or makes it: a vendor may send no deltas, a result may be late. */
function updateTool(
  state: RunState,
  { metadata }: Pick<Chunk, "metadata">,
  seq: number,
  change: (tool: ToolItem) => ToolItem,
): RunState {
  const callId = String(metadata.call_id);
  const at = state.items.findLastIndex((item) => item.kind === "tool" && item.callId === callId);
  const found = state.items[at];
  if (found?.kind === "tool") return { ...state, items: state.items.with(at, change(found)) };
  const fresh: ToolItem = {
    kind: "tool",
    key: `c${seq}`,
    callId,
    tool: String(metadata.tool),
    stage: "writing",
    written: EMPTY_INPUT,
    call: null,
    scriptUrl: null,
    diff: "",
    result: null,
  };
  return addItem(state, change(fresh));
}

function complete(state: RunState, chunk: Chunk, seq: number): RunState {
  const facts = chunk.metadata;
  const end: End = {
    kind: "complete",
    usage: (facts.usage as Usage | undefined) ?? null,
    counters: (facts.counters as Counters | undefined) ?? null,
    changed: (facts.changed as Counts | undefined) ?? null,
    seconds: (facts.seconds as number | undefined) ?? null,
    limit: (facts.limit as string | null | undefined) ?? null,
  };
  const ended = endRun(state, end);
  return said(state, chunk.content) ? ended : addItem(ended, { kind: "message", key: `t${seq}`, text: chunk.content });
}

/** Whether the final text was already streamed as the last turn's prose. */
function said(state: RunState, text: string): boolean {
  const prose = state.items.slice(state.turnStart).map((item) => (item.kind === "message" ? item.text : ""));
  return prose.join("").trim() === text.trim();
}

function fail(state: RunState, chunk: Chunk): RunState {
  const code = String(chunk.metadata.code);
  return endRun(state, { kind: "error", text: chunk.content, code, retryable: chunk.metadata.retryable === true });
}

function endRun(state: RunState, end: End): RunState {
  const items = state.items.map((item) =>
    item.kind === "tool" && item.stage !== "done" ? { ...item, stage: "unanswered" as const } : item,
  );
  return { ...state, items, waiting: null, end };
}

/** The log can't be read to its end: the page says why instead of waiting for ever. */
export function abandon(state: RunState, text: string): RunState {
  return state.end ? state : endRun(state, { kind: "error", text, code: "log_unreadable", retryable: false });
}
