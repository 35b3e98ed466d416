import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { countRows, type DiffRow, parseDiff } from "../src/diff";

const head = ["--- before", "+++ after"];
const parse = (...lines: string[]) => parseDiff([...head, ...lines].join("\n"));

describe("a diff", () => {
  test("is rows with their numbers on both sides, and gaps for what it leaves out", () => {
    expect(parse("@@ -3,3 +3,4 @@", " a", "-b", "+B", "+C", " d", "@@ -20 +21,0 @@", "-gone")).toEqual([
      { kind: "gap", lines: 2 },
      { kind: "same", before: 3, after: 3, text: "a" },
      { kind: "removed", before: 4, after: null, text: "b" },
      { kind: "added", before: null, after: 4, text: "B" },
      { kind: "added", before: null, after: 5, text: "C" },
      { kind: "same", before: 5, after: 6, text: "d" },
      { kind: "gap", lines: 15 },
      { kind: "removed", before: 20, after: null, text: "gone" },
    ]);
  });

  test("of a script that was empty has no gap", () => {
    expect(parse("@@ -0,0 +1,2 @@", "+a", "+b")).toMatchObject([{ after: 1 }, { after: 2 }]);
  });

  test("keeps lines that look like the heads of a diff", () => {
    const rows = parse("@@ -1,2 +1,2 @@", "--- before", "-@@ -1 +1 @@", "+++ after", "+x");
    expect(rows).toMatchObject([{ text: "-- before" }, { text: "@@ -1 +1 @@" }, { text: "++ after" }, { text: "x" }]);
  });

  test("that is none, or isn't whole, is not guessed at", () => {
    for (const text of ["", "print(1)", "@@ -1 +1 @@\n-a\n+b"]) expect(parseDiff(text)).toBeNull();
    expect(parse("@@ -1,2 +1 @@", "-a", "+b")).toBeNull();
    expect(parse("@@ -1 +1 @@", "-a", "+b", "+c")).toBeNull();
    expect(parse("@@ what @@")).toBeNull();
  });

  test("gives both scripts back", () => {
    const kinds = fc.array(fc.constantFrom<"same" | "added" | "removed">("same", "added", "removed"), { minLength: 1 });
    const lines = kinds.chain((all) => fc.tuple(fc.constant(all), fc.array(fc.stringMatching(/^[ -~]*$/), { minLength: all.length, maxLength: all.length })));
    fc.assert(
      fc.property(lines, ([all, texts]) => {
        const side = (left: string) => texts.filter((_, index) => all[index] !== left);
        const before = side("added");
        const after = side("removed");
        const range = (length: number) => `${length === 0 ? 0 : 1},${length}`;
        const marks = { same: " ", added: "+", removed: "-" };
        const body = texts.map((text, index) => marks[all[index] ?? "same"] + text);
        const rows = parse(`@@ -${range(before.length)} +${range(after.length)} @@`, ...body) ?? [];
        const shown = (number: "before" | "after") =>
          rows.flatMap((row: DiffRow) => (row.kind !== "gap" && row[number] !== null ? [[row[number], row.text]] : []));
        expect(shown("before")).toEqual(before.map((text, index) => [index + 1, text]));
        expect(shown("after")).toEqual(after.map((text, index) => [index + 1, text]));
        expect(countRows(rows, "added")).toBe(all.filter((kind) => kind === "added").length);
      }),
    );
  });
});
