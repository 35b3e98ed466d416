import { useEffect, useState } from "preact/hooks";
import { useDesk } from "../desk";
import { fetchOutput, splitBlocks } from "../output";
import type { ToolResult } from "../wire";
import { counted, whole } from "../words";

const HEAD_LINES = 10;

/** What the script printed: the first lines, and on demand every one of them. */
export function Output({ result }: { result: ToolResult }) {
  const [all, setAll] = useState(false);
  if (!result.output_head) return null;
  const head = result.output_head.split("\n").slice(0, HEAD_LINES).join("\n");
  const shortened = result.lines > HEAD_LINES || head.length < result.output_head.trimEnd().length;
  return (
    <div class="output" data-testid="output">
      <h3 class="output-head">Output{result.lines > 0 && `, ${counted(result.lines, "line")}`}</h3>
      {all ? <Whole result={result} /> : <Pane blocks={[head]} />}
      {!all && shortened && (
        <button type="button" class="button small" data-testid="show-output" onClick={() => setAll(true)}>
          {result.lines > 0 ? `Show all ${whole(result.lines)} lines` : "Show all"}
        </button>
      )}
    </div>
  );
}

function Whole({ result }: { result: ToolResult }) {
  const { api } = useDesk();
  const [blocks, setBlocks] = useState<readonly string[]>(() => splitBlocks(result.output_head));
  const [problem, setProblem] = useState<string | null>(null);
  const { output_url: url, bytes } = result;
  useEffect(() => {
    if (url === null) return;
    const leaving = new AbortController();
    fetchOutput(api, url, bytes, setBlocks, leaving.signal).catch((error: unknown) => {
      if (!leaving.signal.aborted) setProblem(String(error));
    });
    return () => leaving.abort();
  }, [api, url, bytes]);
  return (
    <>
      <Pane blocks={blocks} />
      {problem && <p role="alert">The rest of the output can't be loaded. {problem}</p>}
    </>
  );
}

/** Blocks that are out of sight cost no layout (content-visibility), yet can be found, selected and printed. */
function Pane({ blocks }: { blocks: readonly string[] }) {
  return (
    <div class="output-pane" role="group" aria-label="Output text" tabIndex={0}>
      {blocks.map((block, index) => (
        <pre key={index}>{block}</pre>
      ))}
    </div>
  );
}
