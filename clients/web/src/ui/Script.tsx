import { useMemo, useState } from "preact/hooks";
import { useDesk } from "../desk";
import { countRows, parseDiff } from "../diff";
import { editsSoFar } from "../partial";
import type { ToolItem } from "../reduce";
import type { ScriptEdit } from "../wire";
import { counted } from "../words";
import { Code } from "./Code";
import { Diff } from "./Diff";
import { Icon } from "./Icon";

/** Lines of script or replacement that the call holds so far. */
export function linesWritten(item: ToolItem): number {
  let lines = 0;
  for (const [path, { text, newlines }] of item.written.fields) {
    if (path === "code" || path.endsWith("replacement")) lines += text.endsWith("\n") || !text ? newlines : newlines + 1;
  }
  return lines;
}

/**
 * What the model wrote for the host to run: a whole script, or edits of the one before. Grows while it is written; edits
 * that were merged are shown by what they changed.
 */
export function Script({ item }: { item: ToolItem }) {
  const [choice, setChoice] = useState<boolean | null>(null);
  const code = item.call ? item.call.code : item.written.fields.get("code")?.text;
  const edits = item.call ? (item.call.edits ?? []) : editsSoFar(item.written);
  const rows = useMemo(() => parseDiff(item.diff), [item.diff]);
  if (!code && edits.length === 0) return null;
  const wrong = item.result?.error?.line ?? null;
  const open = choice ?? (item.stage !== "done" || wrong !== null); // it makes way for what came of it
  const growing = item.stage === "writing";
  const changed = rows && `: ${counted(countRows(rows, "added"), "line")} added, ${countRows(rows, "removed")} removed`;
  const name = code ? `Script, ${counted(lineCount(code), "line")}` : counted(edits.length, "edit") + (changed ?? "");
  return (
    <details
      class="script"
      open={open}
      data-testid="script"
      onToggle={(event) => {
        if (event.currentTarget.open !== open) setChoice(event.currentTarget.open);
      }}
    >
      <summary>{name}</summary>
      {code ? (
        <Code code={code} label="Script" python growing={growing} firstLine={1} errorLine={wrong} />
      ) : rows ? (
        <Diff rows={rows} errorLine={wrong} />
      ) : (
        edits.map((edit, index) => <Edit key={index} edit={edit} growing={growing && index === edits.length - 1} />)
      )}
      {item.stage !== "writing" && <Tools item={item} code={code ?? null} errorLine={wrong} />}
    </details>
  );
}

function lineCount(code: string): number {
  return code.split("\n").length - (code.endsWith("\n") ? 1 : 0);
}

function Edit({ edit, growing }: { edit: ScriptEdit; growing: boolean }) {
  const { start_line: start, end_line: end, replacement } = edit;
  const where = end < start ? `Before line ${start}` : start === end ? `Line ${start}` : `Lines ${start} to ${end}`;
  return (
    <div class="edit">
      <p class="edit-where">
        {where}
        {end < start ? ": inserted" : replacement ? " replaced by" : ": deleted"}
      </p>
      {replacement && <Code code={replacement} label={where} python growing={growing} firstLine={start} />}
    </div>
  );
}

/** The bytes that were sent, whole: to copy, and to read where the model wrote only edits. */
function Tools({ item, code, errorLine }: { item: ToolItem; code: string | null; errorLine: number | null }) {
  const { api } = useDesk();
  const [merged, setMerged] = useState<string | null>(null);
  const [copied, setCopied] = useState(false);
  const [problem, setProblem] = useState<string | null>(null);
  const { scriptUrl } = item;
  const load = async () => {
    if (scriptUrl === null) return;
    try {
      setMerged(await api.text(scriptUrl, new AbortController().signal));
    } catch (error) {
      setProblem(`The script can't be loaded. ${String(error)}`);
    }
  };
  const whole = code ?? merged;
  return (
    <>
      {!code && merged !== null && <Code code={merged} label="Whole script" python firstLine={1} errorLine={errorLine} />}
      {problem && <p role="alert">{problem}</p>}
      <p class="tools">
        {whole === null && scriptUrl !== null && (
          <button type="button" class="button small" data-testid="whole-script" onClick={() => void load()}>
            Show the whole script
          </button>
        )}
        {whole !== null && "clipboard" in navigator && (
          <button
            type="button"
            class="button small"
            onClick={() => void navigator.clipboard.writeText(whole).then(() => setCopied(true))}
          >
            <Icon name={copied ? "check" : "copy"} />
            {copied ? "Copied" : "Copy"}
          </button>
        )}
      </p>
    </>
  );
}
