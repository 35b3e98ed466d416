import { Component } from "preact";
import type { DiffRow } from "../diff";
import { type Carry, highlightLine, type Line } from "../highlight";
import { counted } from "../words";

interface Props {
  rows: readonly DiffRow[];
  /** Line of the new script, marked as the line where it went wrong. */
  errorLine: number | null;
}

const SIGNS = { same: " ", added: "+", removed: "−" };

/** What edits changed in the script, with the line numbers before and after. Drawn once: a diff doesn't grow. */
export class Diff extends Component<Props> {
  override shouldComponentUpdate({ rows, errorLine }: Props): boolean {
    return rows !== this.props.rows || errorLine !== this.props.errorLine;
  }

  render({ rows, errorLine }: Props) {
    const lines = coloured(rows);
    return (
      <div class="code diff" role="group" aria-label="Changes of the script" tabIndex={0} data-testid="diff">
        <pre>
          {rows.map((row, index) => [
            <Row key={index} row={row} line={lines[index] ?? []} wrong={errorLine !== null && isLine(row, errorLine)} />,
            "\n",
          ])}
        </pre>
      </div>
    );
  }
}

function isLine(row: DiffRow, line: number): boolean {
  return row.kind !== "gap" && row.after === line;
}

function Row({ row, line, wrong }: { row: DiffRow; line: Line; wrong: boolean }) {
  if (row.kind === "gap") return <span class="line gap">{counted(row.lines, "unchanged line")}</span>;
  return (
    <span class={wrong ? `line ${row.kind} wrong` : `line ${row.kind}`}>
      <span class="number">{row.before}</span>
      <span class="number">{row.after}</span>
      <span class="sign" aria-hidden="true">
        {SIGNS[row.kind]}
      </span>
      {row.kind !== "same" && <span class="unseen">{row.kind}: </span>}
      <span class="text">{line.map(({ scope, text }) => (scope ? <span class={`c-${scope}`}>{text}</span> : text))}</span>
    </span>
  );
}

/** Colours for the lines of the new script; what was removed has its background. Behind a gap a string may have ended. */
function coloured(rows: readonly DiffRow[]): Line[] {
  let carry: Carry = null;
  return rows.map((row) => {
    if (row.kind === "gap") carry = null;
    if (row.kind === "gap" || row.kind === "removed") return row.kind === "removed" ? [{ scope: null, text: row.text }] : [];
    const found = highlightLine(row.text, carry);
    carry = found.carry;
    return found.spans;
  });
}
