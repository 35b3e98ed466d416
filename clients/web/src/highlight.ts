/** Colours Python line by line, so that a script that is being written costs each line once. */

import hljs from "highlight.js/lib/core";
import python from "highlight.js/lib/languages/python";

export interface Span {
  readonly scope: string | null;
  readonly text: string;
}
export type Line = readonly Span[];

/** The delimiter of a triple-quoted string that the line before left open. */
export type Carry = '"""' | "'''" | null;

/** Collects spans; the library's own emitter would make HTML of them. */
class SpanEmitter {
  readonly spans: Span[] = [];
  private readonly scopes: string[] = [];

  addText(text: string): void {
    if (text) this.spans.push({ scope: this.scopes.at(-1)?.split(".")[0] ?? null, text });
  }

  startScope(scope: string): void {
    this.scopes.push(scope);
  }

  endScope(): void {
    this.scopes.pop();
  }

  // The library calls the same two by these names as well.
  openNode = this.startScope;
  closeNode = this.endScope;

  __addSublanguage(emitter: SpanEmitter): void {
    this.spans.push(...emitter.spans);
  }

  finalize(): void {}

  toHTML(): string {
    return "";
  }
}

hljs.registerLanguage("python", python);
hljs.configure({ __emitter: SpanEmitter });

/** One line without its line end, given what the line before left open. */
export function highlightLine(line: string, carry: Carry): { spans: Line; carry: Carry } {
  if (carry === null) return { spans: tokens(line), carry: openedBy(line) };
  const close = line.indexOf(carry);
  if (close < 0) return { spans: plain(line, "string"), carry };
  const end = close + carry.length;
  const rest = highlightLine(line.slice(end), null);
  return { spans: [{ scope: "string", text: line.slice(0, end) }, ...rest.spans], carry: rest.carry };
}

function tokens(code: string): Line {
  const result = hljs.highlight(code, { language: "python", ignoreIllegals: true });
  return (result as unknown as { _emitter: SpanEmitter })._emitter.spans;
}

const TOKEN = /#.*|"""|'''|"(?:\\.|[^"\\])*"?|'(?:\\.|[^'\\])*'?/g;

/** The triple quote that a line opens and doesn't close. */
function openedBy(line: string): Carry {
  let open: Carry = null;
  TOKEN.lastIndex = 0;
  for (let match = TOKEN.exec(line); match !== null; match = TOKEN.exec(line)) {
    if (match[0] !== '"""' && match[0] !== "'''") continue;
    const close = line.indexOf(match[0], TOKEN.lastIndex);
    if (close < 0) {
      open = match[0];
      break;
    }
    TOKEN.lastIndex = close + 3;
  }
  return open;
}

/** Code that grows at its end: a line is coloured once, when complete; the last one stays plain until then. */
export class GrowingCode {
  private lines: Line[] = [];
  private tail = "";
  private seen = "";
  private carry: Carry = null;

  constructor(private readonly python: boolean) {}

  /** Takes the whole text so far and gives its lines. Anything but a continuation starts afresh. */
  update(code: string, growing: boolean): readonly Line[] {
    if (!code.startsWith(this.seen)) {
      this.lines = [];
      this.tail = "";
      this.seen = "";
      this.carry = null;
    }
    const parts = (this.tail + code.slice(this.seen.length)).split("\n");
    this.tail = parts.pop() ?? "";
    this.seen = code;
    for (const part of parts) this.lines.push(this.colour(part));
    if (this.tail === "") return [...this.lines];
    if (growing) return [...this.lines, plain(this.tail)];
    const { carry } = this;
    const last = this.colour(this.tail);
    this.carry = carry; // the line may yet go on
    return [...this.lines, last];
  }

  private colour(line: string): Line {
    if (!this.python) return plain(line);
    const { spans, carry } = highlightLine(line, this.carry);
    this.carry = carry;
    return spans;
  }
}

function plain(line: string, scope: string | null = null): Line {
  return line ? [{ scope, text: line }] : [];
}
