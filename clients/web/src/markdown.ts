/** Markdown as a tree of tokens, for text that grows: finished blocks are parsed once. HTML is never made. */

import MarkdownIt, { type Token } from "markdown-it";

export interface Node {
  readonly token: Token;
  readonly children: readonly Node[];
}

const parser = new MarkdownIt("default", { html: false });
parser.validateLink = (url: string) => /^https?:/i.test(url);

export function parseMarkdown(text: string): Node[] {
  return nest(parser.parse(text, {}));
}

function nest(tokens: readonly Token[]): Node[] {
  const root: Node[] = [];
  const open: Node[][] = [root];
  for (const token of tokens) {
    if (token.nesting < 0) {
      open.pop();
      continue;
    }
    const children: Node[] = token.children ? nest(token.children) : [];
    open.at(-1)?.push({ token, children });
    if (token.nesting > 0) open.push(children);
  }
  return root;
}

/** A text that grows at its end, as blocks; a block before the last never changes again, nor does its object. */
export class GrowingMarkdown {
  private settled: Node[] = [];
  private settledTo = 0;
  private seen = "";

  /** Takes the whole text so far and gives all its blocks. */
  update(text: string): readonly Node[] {
    if (!text.startsWith(this.seen)) {
      this.settled = [];
      this.settledTo = 0;
    }
    this.seen = text;
    this.settle(text);
    return [...this.settled, ...parseMarkdown(text.slice(this.settledTo))];
  }

  /** Only whole lines decide: half a line may still turn out to belong to the block before it. */
  private settle(text: string): void {
    const whole = text.slice(this.settledTo, text.lastIndexOf("\n") + 1);
    const blocks = parseMarkdown(whole);
    const last = blocks.at(-1)?.token.map?.[0] ?? 0;
    if (blocks.length < 2 || last === 0) return;
    this.settled = [...this.settled, ...blocks.slice(0, -1)];
    this.settledTo += lineStart(whole, last);
  }
}

function lineStart(text: string, line: number): number {
  let at = 0;
  for (let count = 0; count < line; count += 1) at = text.indexOf("\n", at) + 1;
  return at;
}
