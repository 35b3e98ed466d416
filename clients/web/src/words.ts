/** How facts are said. Pure. */

import type { RunState, ToolItem } from "./reduce";
import type { Application, Change, Counts, ToolResult, Usage } from "./wire";

export type Tone = "good" | "bad" | "warn" | "quiet";
export type IconName = "check" | "cross" | "back" | "eye" | "question" | "clock" | "stop";

export interface Verdict {
  readonly word: string;
  readonly more: string;
  readonly tone: Tone;
  readonly icon: IconName;
}

const VERDICTS: Record<string, Verdict> = {
  committed: { word: "Committed", more: "the document was changed", tone: "good", icon: "check" },
  rolled_back: { word: "Rolled back", more: "nothing was changed", tone: "quiet", icon: "back" },
  previewed: { word: "Previewed", more: "nothing is applied yet", tone: "quiet", icon: "eye" },
  failed: { word: "Failed", more: "all undone, nothing was changed", tone: "bad", icon: "cross" },
  refused: { word: "Refused", more: "nothing was run", tone: "warn", icon: "stop" },
  crashed: { word: "Crashed", more: "all undone, nothing was changed", tone: "bad", icon: "cross" },
  timed_out: { word: "Timed out", more: "all undone, nothing was changed", tone: "bad", icon: "clock" },
  unknown: { word: "Not known", more: "it may or may not have been applied", tone: "warn", icon: "question" },
};

const COLLECT = "execute_data_collection";
const CAPTURE = "capture_view";

/** What became of a call; a read that went well isn't presented as something taken back. */
export function verdictOn(result: ToolResult): Verdict {
  const outcome = result.outcome ?? (result.ok ? "done" : "not run");
  if (outcome === "rolled_back" && result.ok && result.tool === COLLECT) {
    return { word: "Read", more: "nothing was changed", tone: "good", icon: "eye" };
  }
  if (outcome === "rolled_back" && result.ok && result.tool === CAPTURE) {
    return { word: "Taken", more: "nothing was changed", tone: "good", icon: "eye" };
  }
  if (outcome === "committed" && result.changed && total(result.changed) === 0) {
    return { word: "Committed", more: "no element was changed", tone: "good", icon: "check" };
  }
  const word = outcome.charAt(0).toUpperCase() + outcome.slice(1).replaceAll("_", " ");
  return VERDICTS[outcome] ?? { word, more: "", tone: result.ok ? "good" : "bad", icon: result.ok ? "check" : "cross" };
}

export function toolName(tool: string): string {
  if (tool === COLLECT) return "Look up";
  if (tool === CAPTURE) return "Take a picture";
  return tool === "execute_task_automation" ? "Change the document" : tool;
}

/** What the model says the call is for, as far as it has written that. */
export function purposeOf(item: ToolItem): string {
  const written = (name: string) => item.written.fields.get(name)?.text;
  const { call } = item;
  if (call) return call.summary ?? call.purpose ?? viewName(call.view ?? null);
  return written("summary") ?? written("purpose") ?? "";
}

export function viewName(view: { readonly kind: string; readonly storey?: string | null } | null): string {
  if (view === null) return "";
  const name = view.kind === "plan" ? "Plan" : view.kind === "3d" ? "3D view" : view.kind;
  return view.storey ? `${name}, ${view.storey}` : name;
}

const APPLICATIONS: Record<string, string> = { ifc: "IFC", revit: "Revit", freecad: "FreeCAD", blender: "Blender" };

export function hostName(application: Application | null | undefined): string {
  if (!application?.name) return "the host";
  return APPLICATIONS[application.name] ?? application.name;
}

/** One line that a screen reader may speak: it changes with the step, never with a token or a second. */
export function statusOf(run: RunState): string {
  if (run.end?.kind === "complete") {
    const { limit, changed } = run.end;
    const how = limit === null ? "Done" : limitLine(limit);
    return changed ? `${how}${limit === null ? ":" : ","} ${countsLine(changed)}` : how;
  }
  if (run.end?.kind === "error") return run.end.code === "cancelled" ? "Stopped" : "The run ended with an error";
  const last = run.items.at(-1);
  if (last?.kind === "tool" && last.stage !== "done") return stageLine(last, run);
  if (run.waiting) return run.waiting.text;
  if (last?.kind === "thinking") return "Thinking";
  if (last?.kind === "message") return "Writing an answer";
  return run.model ? "Waiting for the model" : "Starting";
}

export function stageLine(item: ToolItem, run: RunState): string {
  const host = hostName(run.host?.application);
  if (item.stage === "writing") return item.tool === CAPTURE ? "Choosing a view" : "Writing script";
  if (item.stage === "unanswered") return "No result";
  if (item.stage === "running") {
    return run.host?.state === "gone" ? `${sentence(host)} has stopped answering` : `${sentence(host)} is running it`;
  }
  if (run.waiting?.reason === "slot") return `${sentence(host)} is busy with something else`;
  return run.host?.online === false ? `Waiting for ${host}: it is offline` : `Waiting for ${host} to take it`;
}

const LIMITS: Record<string, string> = {
  fix: "fixes",
  iteration: "rounds of changes",
  turns: "turns of the model",
  seconds: "time",
  cost_usd: "cost",
};

export function limitLine(limit: string): string {
  return `Limit reached: ${LIMITS[limit] ?? limit}`;
}

export function total(counts: Counts): number {
  return counts.added + counts.modified + counts.deleted;
}

function sentence(text: string): string {
  return text.charAt(0).toUpperCase() + text.slice(1);
}

export function countsLine(counts: Counts): string {
  const parts = (["added", "modified", "deleted"] as const).filter((change) => counts[change] > 0);
  if (parts.length === 0) return "nothing was changed";
  return parts.map((change) => `${whole(counts[change])} ${CHANGE_WORDS[change]}`).join(", ");
}

export const CHANGE_WORDS: Record<Change, string> = { added: "added", modified: "changed", deleted: "deleted" };

export function counted(count: number, noun: string): string {
  return `${whole(count)} ${noun}${count === 1 ? "" : "s"}`;
}

export function whole(count: number): string {
  return count.toLocaleString("en-US");
}

/** 0:07, 2:14, 1:02:03. */
export function duration(seconds: number): string {
  const total = Math.max(0, Math.floor(seconds));
  const parts = [Math.floor(total / 3600), Math.floor(total / 60) % 60, total % 60];
  const shown = parts[0] === 0 ? parts.slice(1) : parts;
  return shown.map((part, index) => (index === 0 ? String(part) : String(part).padStart(2, "0"))).join(":");
}

/** `48k tokens (82% cached)`: all tokens of the run, and how much of what was read came from the cache. */
export function tokensLine(usage: Usage): string {
  const read = usage.input_uncached + usage.cache_read + usage.cache_write;
  const total = read + usage.output + usage.reasoning;
  const size = total < 10_000 ? whole(total) : `${whole(Math.round(total / 1000))}k`;
  const cached = read > 0 ? Math.round((100 * usage.cache_read) / read) : 0;
  return cached > 0 ? `${size} tokens (${cached}% cached)` : `${size} tokens`;
}

export function costLine(dollars: number): string {
  return `$${dollars.toFixed(dollars < 0.1 ? 3 : 2)}`;
}

/** A value of the report as text; what isn't a plain value is shown as JSON. */
export function valueText(value: unknown): string {
  if (value === null || value === undefined || value === "") return "none";
  if (typeof value === "number") return Number.isInteger(value) ? String(value) : String(Number(value.toPrecision(6)));
  return typeof value === "object" ? JSON.stringify(value) : String(value);
}
