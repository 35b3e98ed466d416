/** What the server sends, as the HTTP contract has it. Times are Unix seconds. */

export type Change = "added" | "modified" | "deleted";
export type Counts = Record<Change, number>;
export type Mode = "auto" | "read_only";

export type ChunkType =
  | "Metadata"
  | "Thinking"
  | "Message"
  | "ToolInputDelta"
  | "ToolCall"
  | "Complete"
  | "Error"
  | "AgenticUsage";

export interface Chunk {
  readonly type: ChunkType;
  readonly content: string;
  readonly metadata: Readonly<Record<string, unknown>>;
}

/** A chunk and its place in the run's log; places ascend. */
export interface LoggedEvent {
  readonly seq: number;
  readonly chunk: Chunk;
}

export interface Model {
  readonly id: string;
  readonly label: string;
  readonly vendor: string;
  readonly dialect: string;
  readonly rehearsal: boolean;
  readonly available: boolean;
  readonly default: boolean;
}

export interface Application {
  readonly name: string;
  readonly version: string;
}

export interface DocumentState {
  readonly id: string;
  readonly title: string;
  readonly version: string;
}

export interface Host {
  readonly id: string;
  readonly application: Application;
  readonly document: DocumentState | null; // null until its first poll
  readonly online: boolean;
  readonly last_seen_at: number;
  readonly busy_since: number | null;
  /** Requests that make sense in this application. */
  readonly examples: readonly string[];
}

export interface Session {
  readonly id: string;
  readonly title: string;
  readonly model: string;
  readonly host_id: string | null;
  readonly mode: Mode;
  readonly created_at: number;
  readonly updated_at: number;
  readonly active_run: string | null;
}

export interface StoredRun {
  readonly id: string;
  readonly state: "running" | "complete" | "error";
  readonly started_at: number;
}

export interface ModelFacts {
  readonly vendor: string;
  readonly model: string;
  readonly label: string;
  readonly rehearsal: boolean;
  readonly turn: number;
}

export interface HostFacts {
  readonly host_id: string;
  readonly online: boolean;
  readonly application: Application | null;
  readonly document: DocumentState | null;
  readonly state: "idle" | "working" | "gone";
  readonly busy_since: number | null;
}

export interface Waiting {
  readonly reason: "host" | "slot" | "model" | "compaction";
  readonly call_id: string | null;
  readonly since: number | null; // null where nobody counts
  readonly timeout_s: number | null;
}

export interface PropertyChange {
  readonly property: string;
  readonly before: unknown;
  readonly after: unknown;
}

export interface ReportElement {
  readonly id: number | string;
  readonly change: Change;
  readonly category: string;
  readonly name: string | null;
  readonly tag: string | null;
  readonly level: string | null;
  readonly type: string | null;
  readonly changes: readonly PropertyChange[];
}

/** Elements of one category that changed in the same properties; a value that they don't share is "(various)". */
export interface ReportGroup {
  readonly category: string;
  readonly change: Change;
  readonly count: number;
  readonly example: { readonly id: number | string; readonly name: string | null } | null;
  readonly changes: readonly PropertyChange[];
}

export interface Report {
  readonly counts: Counts;
  readonly elements: readonly ReportElement[];
  readonly groups: readonly ReportGroup[];
  readonly unresolved: number;
}

export interface Picture {
  readonly url: string;
  readonly width: number;
  readonly height: number;
  readonly media_type: string;
  readonly view: { readonly kind: string; readonly storey: string | null } | null;
}

export interface ScriptError {
  readonly type: string;
  readonly message: string;
  readonly line: number | null;
}

export interface ToolResult {
  readonly call_id: string;
  readonly tool: string;
  readonly ok: boolean;
  readonly outcome: string | null;
  readonly summary: string;
  readonly changed: Counts | null;
  /** Its elements are only the first ones; all are at `report_url`. */
  readonly report: Report | null;
  readonly report_url: string | null;
  readonly lines: number;
  readonly bytes: number;
  readonly output_url: string | null;
  readonly output_head: string;
  readonly images: readonly Picture[];
  readonly error: ScriptError | null;
  readonly script_sha256: string | null;
  readonly script_url: string | null;
  readonly host: { readonly id: string; readonly application: Application | null } | null;
  readonly seconds: number;
  readonly notes: readonly string[];
  readonly late: boolean;
}

export interface Usage {
  readonly input_uncached: number;
  readonly cache_read: number;
  readonly cache_write: number;
  readonly output: number;
  readonly reasoning: number;
  readonly cost_usd: number | null;
}

export interface ScriptEdit {
  readonly start_line: number;
  readonly end_line: number;
  readonly replacement: string;
}

/** The validated input of any of the three tools. */
export interface ToolInput {
  readonly code?: string | null;
  readonly purpose?: string;
  readonly summary?: string;
  readonly edits?: readonly ScriptEdit[] | null;
  readonly view?: { readonly kind: string; readonly storey?: string | null } | null;
}
