import fc from "fast-check";
import { expect, test } from "vitest";
import { GrowingMarkdown, type Node, parseMarkdown } from "../src/markdown";
import { cutUp } from "./cuts";

/** What is drawn of a tree: kinds, texts and targets, without places in the source. */
function shape(nodes: readonly Node[]): unknown {
  return nodes.map(({ token, children }) => [token.type, token.tag, token.content, token.hidden, token.attrs, shape(children)]);
}

const words = ["a", "b c", "- ", "  - ", "1. ", "2", "# ", "> ", "\n", "\n", "\n\n", "---", "```", "```py\n", "| ", "|-", "**", "`", "* ", "=="];
const document = fc.array(fc.constantFrom(...words), { maxLength: 40 }).map((parts) => parts.join(""));

test("Markdown that grows is what it is when parsed whole, however it is cut", () => {
  const grown = document.chain((text) => fc.record({ text: fc.constant(text), pieces: cutUp(text) }));
  fc.assert(
    fc.property(grown, ({ text, pieces }) => {
      const growing = new GrowingMarkdown();
      let sofar = "";
      for (const piece of pieces) growing.update((sofar += piece));
      expect(shape(growing.update(text))).toEqual(shape(parseMarkdown(text)));
    }),
    { numRuns: 3000 },
  );
});

test("finished blocks stay the same objects", () => {
  const growing = new GrowingMarkdown();
  const first = growing.update("One.\n\nTwo.\n\nThr")[0];
  expect(growing.update("One.\n\nTwo.\n\nThree.\n")[0]).toBe(first);
});

function types(nodes: readonly Node[]): string[] {
  return nodes.flatMap(({ token, children }) => [token.type, ...types(children)]);
}

test("HTML is text, and only web addresses become links or pictures", () => {
  const text = '<img src=x onerror="alert(1)"> [a](javascript:alert(1)) [b](data:text/html,x) ![c](file:///etc/passwd)';
  expect(types(parseMarkdown(text)).filter((type) => /link|image|html/.test(type))).toEqual([]);
  expect(types(parseMarkdown("[a](https://example.org) ![p](http://example.org/p.png)"))).toEqual(
    expect.arrayContaining(["link_open", "image"]),
  );
});
