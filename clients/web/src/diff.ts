/** The difference of two scripts, as the server sends it (unified), in rows. Pure. */

export type DiffRow =
  | { readonly kind: "same" | "added" | "removed"; readonly before: number | null; readonly after: number | null; readonly text: string }
  | { readonly kind: "gap"; readonly lines: number };

const HUNK = /^@@ -(\d+)(?:,(\d+))? \+(\d+)(?:,(\d+))? @@/;

/** Rows with their line numbers in both scripts; unchanged lines that were left out are a gap. Null for what is no diff. */
export function parseDiff(diff: string): readonly DiffRow[] | null {
  const lines = diff.split("\n");
  if (!lines[0]?.startsWith("--- ") || !lines[1]?.startsWith("+++ ")) return null;
  const rows: DiffRow[] = [];
  let next = 1; // the first line of the new script that no row shows yet
  let at = 2;
  while (at < lines.length) {
    const hunk = hunkOf(lines[at] ?? "");
    if (hunk === null) return null;
    if (hunk.after > next) rows.push({ kind: "gap", lines: hunk.after - next });
    // By the head's figures, not by the marks: a removed line that begins with `-- ` looks like the head of a file.
    const { before, after, length } = readHunk(lines.slice(at + 1), hunk, rows);
    if (before !== hunk.beforeEnd || after !== hunk.afterEnd) return null;
    next = after;
    at += 1 + length;
  }
  return rows;
}

interface Hunk {
  readonly before: number;
  readonly beforeEnd: number;
  readonly after: number;
  readonly afterEnd: number;
}

/** First line and the one behind the last, on either side. A side without lines names the line in front of it. */
function hunkOf(head: string): Hunk | null {
  const match = HUNK.exec(head);
  if (match === null) return null;
  const [before = 0, beforeCount = 0, after = 0, afterCount = 0] = match.slice(1).map((figure) => Number(figure ?? 1));
  const first = (start: number, count: number) => (count === 0 ? start + 1 : start);
  return {
    before: first(before, beforeCount),
    beforeEnd: first(before, beforeCount) + beforeCount,
    after: first(after, afterCount),
    afterEnd: first(after, afterCount) + afterCount,
  };
}

function readHunk(lines: readonly string[], hunk: Hunk, rows: DiffRow[]) {
  let { before, after } = hunk;
  let length = 0;
  for (const line of lines) {
    if (before >= hunk.beforeEnd && after >= hunk.afterEnd) break;
    const text = line.slice(1);
    if (line.startsWith("+")) rows.push({ kind: "added", before: null, after: after++, text });
    else if (line.startsWith("-")) rows.push({ kind: "removed", before: before++, after: null, text });
    else if (line.startsWith(" ")) rows.push({ kind: "same", before: before++, after: after++, text });
    else break;
    length += 1;
  }
  return { before, after, length };
}

export function countRows(rows: readonly DiffRow[], kind: DiffRow["kind"]): number {
  return rows.filter((row) => row.kind === kind).length;
}
