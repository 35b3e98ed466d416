import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { EMPTY_INPUT, editsSoFar, feed, type PartialInput } from "../src/partial";
import { cutUp } from "./cuts";

const feedAll = (pieces: readonly string[]): PartialInput => pieces.reduce(feed, EMPTY_INPUT);
const textOf = (input: PartialInput, path: string) => input.fields.get(path)?.text;

/** Escapes more than JSON.stringify does, as vendors do: `\u00e9`, and a surrogate pair as two escapes. */
function escapeAll(json: string): string {
  return json.replace(/[^\x20-\x7e\n]/g, (unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, "0")}`);
}

const text = fc.string({ unit: "binary", maxLength: 60 });
const edit = fc.record({ start_line: fc.nat(), end_line: fc.nat(), replacement: text });
const call = fc.oneof(
  fc.record({ code: text, purpose: text }),
  fc.record({ edits: fc.array(edit, { maxLength: 4 }), summary: text, view: fc.record({ kind: text, storey: text }) }),
  fc.record({ other: fc.jsonValue(), code: text, summary: text }),
);

describe("the text of a call that is still being written", () => {
  test("is the same however the JSON is cut and escaped", () => {
    const cut = fc
      .tuple(call, fc.boolean(), fc.nat({ max: 2 }))
      .map(([value, escaped, indent]) => {
        const json = JSON.stringify(value, null, indent);
        return { value, json: escaped ? escapeAll(json) : json };
      })
      .chain(({ value, json }) => fc.record({ value: fc.constant(value), pieces: cutUp(json) }));
    fc.assert(
      fc.property(cut, ({ value, pieces }) => {
        const input = feedAll(pieces);
        for (const name of ["code", "summary", "purpose"] as const) {
          expect(textOf(input, name)).toBe((value as Record<string, unknown>)[name]);
        }
        expect(editsSoFar(input)).toEqual("edits" in value ? value.edits : []);
      }),
      { numRuns: 1500 },
    );
  });

  test("never runs ahead of or behind what has arrived", () => {
    const pieces = ['{"co', 'de": "pri', "nt(\\", 'n1)\\u00', 'e9"', "}"];
    const seen: (string | undefined)[] = [];
    pieces.reduce((input, piece) => {
      const next = feed(input, piece);
      seen.push(textOf(next, "code"));
      return next;
    }, EMPTY_INPUT);
    expect(seen).toEqual([undefined, "pri", "print(", "print(\n1)", "print(\n1)é", "print(\n1)é"]);
  });

  test("holds back half a surrogate pair", () => {
    const half = feed(EMPTY_INPUT, '{"code": "a\\ud83d');
    expect(textOf(half, "code")).toBe("a");
    expect(textOf(feed(half, '\\ude00"'), "code")).toBe("a😀");
  });

  test("is not taken from members of other objects that have the same name", () => {
    const input = feed(EMPTY_INPUT, '{"view": {"code": "no"}, "code": "yes"}');
    expect(textOf(input, "code")).toBe("yes");
  });

  test("is nothing where the value is null", () => {
    const input = feed(EMPTY_INPUT, '{"code": null, "edits": []}');
    expect(input.fields.size).toBe(0);
  });

  test("counts its line ends", () => {
    const input = feedAll(['{"code": "a\\n', 'b\\nc', '\\n"}']);
    expect(input.fields.get("code")).toEqual({ text: "a\nb\nc\n", newlines: 3, done: true });
  });

  test("stops where the JSON is broken and keeps what was good", () => {
    const input = feedAll(['{"code": "ab\\x', 'more"}', "tail"]);
    expect(input.mode).toBe("broken");
    expect(textOf(input, "code")).toBe("ab");
  });

  test("shows an edit from the moment its replacement begins", () => {
    const begun = feed(EMPTY_INPUT, '{"edits":[{"start_line":12,"end_line":14,"replacement":"x = 1');
    expect(editsSoFar(begun)).toEqual([{ start_line: 12, end_line: 14, replacement: "x = 1" }]);
    const next = feed(begun, '\\n"},{"start_line":20,');
    expect(editsSoFar(next)).toEqual([{ start_line: 12, end_line: 14, replacement: "x = 1\n" }]);
  });

  test("leaves the value it started from as it was", () => {
    const first = feed(EMPTY_INPUT, '{"code": "a');
    feed(first, 'b"}');
    expect(textOf(first, "code")).toBe("a");
    expect(textOf(feed(first, 'c"}'), "code")).toBe("ac");
  });
});
