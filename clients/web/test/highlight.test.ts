import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { GrowingCode, highlightLine, type Line } from "../src/highlight";
import { cutUp } from "./cuts";

const textOf = (line: Line) => line.map((span) => span.text).join("");
const scopeOf = (line: Line, text: string) => line.find((span) => span.text.includes(text))?.scope;
const colour = (code: string) => new GrowingCode(true).update(code, false);

const SCRIPT = `import ifcopenshell
def rename(doors):
    """First line,
    if this were code it would be coloured
    """
    for number, door in enumerate(doors, start=1):  # count "from" one
        door.Name = f"T{number:03d}" + 'it\\'s'
    text = '''a'''; rest = """
open """; return 1.5
`;

const pythonish = fc
  .array(fc.constantFrom('"""', "'''", '"', "'", "\\", "#", "\n", "def f", " x=1", "f'{a}'", "é😀", "r"), { maxLength: 40 })
  .map((parts) => parts.join(""));

describe("coloured code", () => {
  test("is the same text", () => {
    fc.assert(
      fc.property(pythonish, (code) => {
        const lines = new GrowingCode(true).update(`${code}\n`, false);
        expect(lines.map(textOf).join("\n")).toBe(code);
      }),
      { numRuns: 500 },
    );
  });

  test("is the same however it grows", () => {
    const grown = pythonish.chain((code) => fc.record({ code: fc.constant(code), pieces: cutUp(code) }));
    fc.assert(
      fc.property(grown, ({ code, pieces }) => {
        const growing = new GrowingCode(true);
        let sofar = "";
        pieces.forEach((piece, index) => growing.update((sofar += piece), index % 2 === 0));
        expect(growing.update(code, false)).toEqual(colour(code));
      }),
      { numRuns: 300 },
    );
  });

  test("colours keywords, names, numbers, strings and comments", () => {
    const lines = colour(SCRIPT);
    expect(scopeOf(lines[0] ?? [], "import")).toBe("keyword");
    expect(scopeOf(lines[1] ?? [], "rename")).toBe("title");
    expect(scopeOf(lines[5] ?? [], "# count")).toBe("comment");
    expect(scopeOf(lines[5] ?? [], "1")).toBe("number");
    expect(scopeOf(lines[6] ?? [], "it")).toBe("string");
  });

  test("carries a triple-quoted string across lines and ends it where it closes", () => {
    const lines = colour(SCRIPT);
    expect(lines[3]).toEqual([{ scope: "string", text: "    if this were code it would be coloured" }]);
    expect(scopeOf(lines[5] ?? [], "for")).toBe("keyword");
    expect(scopeOf(lines[8] ?? [], "open")).toBe("string");
    expect(scopeOf(lines[8] ?? [], "return")).toBe("keyword");
  });

  test("opens no string inside a comment or another string", () => {
    expect(highlightLine("x = 1  # not a \"\"\" string", null).carry).toBeNull();
    expect(highlightLine("x = 'a \"\"\" b'", null).carry).toBeNull();
    expect(highlightLine("x = '''a \"\"\" b", null).carry).toBe("'''");
  });

  test("keeps finished lines as the same objects, so that they are drawn once", () => {
    const growing = new GrowingCode(true);
    const first = growing.update("a = 1\nb", true)[0];
    const lines = growing.update("a = 1\nb = 2\nc", true);
    expect(lines[0]).toBe(first);
    expect(lines.map(textOf)).toEqual(["a = 1", "b = 2", "c"]);
  });

  test("starts afresh when the text is another one", () => {
    const growing = new GrowingCode(true);
    growing.update('a = """\n', true);
    expect(growing.update("b = 2\nreturn 1\n", false).map(textOf)).toEqual(["b = 2", "return 1"]);
    expect(scopeOf(growing.update("b = 2\nreturn 1\n", false)[1] ?? [], "return")).toBe("keyword");
  });
});
