/**
 * Reads a tool call's JSON while it is still being written.
 *
 * `feed` takes the next piece, cut anywhere (inside an escape, between two surrogates), and gives back a new value with
 * the text of the wanted fields so far. Each character is looked at once, so a script costs the same however finely it
 * is cut. Fields are named by path: `code`, `summary`, `edits.0.replacement`.
 */

import type { ScriptEdit } from "./wire";

const WANTED = new Set(["code", "summary", "purpose", "replacement", "start_line", "end_line"]);
/** Stands as the path while a member's name is read: no member is named so. */
const KEY = "\u0000";
const ESCAPES: Record<string, string> = { b: "\b", f: "\f", n: "\n", r: "\r", t: "\t", '"': '"', "\\": "\\", "/": "/" };

export interface Field {
  readonly text: string;
  readonly newlines: number;
  readonly done: boolean;
}

type Mode = "value" | "string" | "literal" | "key" | "colon" | "next" | "broken";

interface Level {
  readonly array: boolean;
  readonly step: string | number;
}

export interface PartialInput {
  readonly fields: ReadonlyMap<string, Field>;
  readonly mode: Mode;
  readonly levels: readonly Level[];
  /** The member name, or the literal, being read. */
  readonly word: string;
  /** Path of the wanted value being read. */
  readonly path: string | null;
  /** An escape sequence that hasn't all arrived. */
  readonly escape: string;
  /** The first half of a surrogate pair whose second half hasn't arrived. */
  readonly high: string;
}

export const EMPTY_INPUT: PartialInput = {
  fields: new Map(),
  mode: "value",
  levels: [],
  word: "",
  path: null,
  escape: "",
  high: "",
};

export function feed(input: PartialInput, piece: string): PartialInput {
  const reader = new Reader(input);
  reader.read(piece);
  return reader.value();
}

/** The line edits written so far; an edit shows from the moment its replacement begins. */
export function editsSoFar(input: PartialInput): ScriptEdit[] {
  const edits: ScriptEdit[] = [];
  for (let index = 0; ; index += 1) {
    const replacement = input.fields.get(`edits.${index}.replacement`);
    if (replacement === undefined) return edits;
    const line = (name: string) => Number(input.fields.get(`edits.${index}.${name}`)?.text ?? 0);
    edits.push({ start_line: line("start_line"), end_line: line("end_line"), replacement: replacement.text });
  }
}

class Reader {
  private fields: Map<string, Field>;
  private levels: Level[];
  private mode: Mode;
  private word: string;
  private path: string | null;
  private escape: string;
  private high: string;

  constructor(from: PartialInput) {
    this.fields = new Map(from.fields);
    this.levels = [...from.levels];
    this.mode = from.mode;
    this.word = from.word;
    this.path = from.path;
    this.escape = from.escape;
    this.high = from.high;
  }

  value(): PartialInput {
    const { fields, mode, levels, word, path, escape, high } = this;
    return { fields, mode, levels, word, path, escape, high };
  }

  read(piece: string): void {
    let at = 0;
    while (at < piece.length) {
      if (this.mode === "broken") return;
      if (this.escape) at = this.continueEscape(piece, at);
      else if (this.mode === "string" || (this.mode === "key" && this.path === KEY)) at = this.readText(piece, at);
      else at = this.readStructure(piece, at);
    }
  }

  /** Everything up to the closing quote or the next escape, in one slice. */
  private readText(piece: string, at: number): number {
    let end = at;
    while (end < piece.length && piece[end] !== '"' && piece[end] !== "\\") end += 1;
    if (end > at) this.append(piece.slice(at, end));
    if (end === piece.length) return end;
    if (piece[end] === "\\") this.escape = "\\";
    else this.closeString();
    return end + 1;
  }

  private continueEscape(piece: string, at: number): number {
    this.escape += piece[at];
    const kind = this.escape[1] ?? "";
    if (kind === "u") {
      if (this.escape.length < 6) return at + 1;
      const code = Number(`0x${this.escape.slice(2)}`);
      if (Number.isNaN(code)) this.mode = "broken";
      else this.append(String.fromCharCode(code));
    } else if (kind in ESCAPES) this.append(ESCAPES[kind] ?? "");
    else this.mode = "broken";
    this.escape = "";
    return at + 1;
  }

  private append(text: string): void {
    if (this.path === KEY) {
      this.word += text;
      return;
    }
    if (this.path === null) return;
    let whole = this.high + text;
    this.high = "";
    const last = whole.charCodeAt(whole.length - 1);
    if (last >= 0xd800 && last <= 0xdbff) {
      this.high = whole.slice(-1);
      whole = whole.slice(0, -1);
    }
    this.extend(whole, false);
  }

  private extend(text: string, done: boolean): void {
    if (this.path === null) return;
    const before = this.fields.get(this.path);
    let newlines = before?.newlines ?? 0;
    for (let at = text.indexOf("\n"); at >= 0; at = text.indexOf("\n", at + 1)) newlines += 1;
    this.fields.set(this.path, { text: (before?.text ?? "") + text, newlines, done });
  }

  private closeString(): void {
    if (this.path === KEY) {
      this.setStep(this.word);
      this.path = null;
      this.mode = "colon";
      return;
    }
    this.extend(this.high, true);
    this.high = "";
    this.path = null;
    this.mode = "next";
  }

  private readStructure(piece: string, at: number): number {
    const char = piece[at] ?? "";
    if (this.mode === "literal" && !/[\s,\]}]/.test(char)) {
      this.word += char;
      return at + 1;
    }
    if (this.mode === "literal") this.closeLiteral();
    if (/\s/.test(char)) return at + 1;
    if (this.mode === "value") this.beginValue(char);
    else if (this.mode === "key") this.beginKey(char);
    else if (this.mode === "colon") this.mode = char === ":" ? "value" : "broken";
    else this.afterValue(char);
    return at + 1;
  }

  private beginValue(char: string): void {
    if (char === "{") {
      this.levels.push({ array: false, step: "" });
      this.mode = "key";
    } else if (char === "[") {
      this.levels.push({ array: true, step: 0 });
    } else if (char === "]" && this.levels.at(-1)?.array) {
      this.pop();
    } else {
      this.path = this.wantedPath();
      if (this.path !== null) this.fields.delete(this.path); // of two members with one name the last counts
      this.mode = char === '"' ? "string" : "literal";
      this.word = char;
      if (this.mode === "string") this.extend("", false);
    }
  }

  private beginKey(char: string): void {
    if (char === '"') {
      this.path = KEY;
      this.word = "";
    } else if (char === "}") this.pop();
    else this.mode = "broken";
  }

  private afterValue(char: string): void {
    const level = this.levels.at(-1);
    if (level === undefined) this.mode = "broken";
    else if (char === (level.array ? "]" : "}")) this.pop();
    else if (char !== ",") this.mode = "broken";
    else if (level.array) {
      this.setStep(Number(level.step) + 1);
      this.mode = "value";
    } else this.mode = "key";
  }

  private closeLiteral(): void {
    if (/^\d/.test(this.word)) this.extend(this.word, true); // `"code": null` is no code
    this.path = null;
    this.mode = "next";
  }

  private pop(): void {
    this.levels.pop();
    this.mode = "next";
  }

  private setStep(step: string | number): void {
    this.levels[this.levels.length - 1] = { array: typeof step === "number", step };
  }

  private wantedPath(): string | null {
    const steps = this.levels.map((level) => level.step);
    return WANTED.has(String(steps.at(-1))) ? steps.join(".") : null;
  }
}
