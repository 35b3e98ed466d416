import { now } from "../clock";
import type { RunState, ToolItem } from "../reduce";
import { duration, purposeOf, stageLine, toolName, verdictOn } from "../words";
import { Icon } from "./Icon";
import { Result } from "./Result";
import { linesWritten, Script } from "./Script";

const LONG_S = 30;

/** One call of a tool: from the first character of its script to what the host answered. */
export function ToolCard({ item, run }: { item: ToolItem; run: RunState }) {
  const purpose = purposeOf(item);
  const kind = toolName(item.tool);
  return (
    <article class={`card ${item.stage}`} aria-label={kind} data-testid="tool-card" data-call={item.callId} data-stage={item.stage}>
      <header class="card-head">
        <span class="card-kind">{kind}</span>
        {item.result ? <Verdict item={item} /> : <Progress item={item} run={run} />}
        {purpose && <p class="card-purpose">{purpose}</p>}
      </header>
      <Script item={item} />
      {item.result && <Result result={item.result} />}
    </article>
  );
}

function Verdict({ item }: { item: ToolItem }) {
  if (item.result === null) return null;
  const { word, more, tone, icon } = verdictOn(item.result);
  return (
    <span class={`chip ${tone}`} data-testid="outcome" data-outcome={item.result.outcome}>
      <Icon name={icon} />
      <span>
        <strong>{word}</strong>
        {more && <span class="chip-more"> – {more}</span>}
      </span>
    </span>
  );
}

function Progress({ item, run }: { item: ToolItem; run: RunState }) {
  const since = sinceWhen(item, run);
  const lines = linesWritten(item);
  const timeout = run.waiting?.timeout_s ?? null;
  const waited = since === null ? 0 : now.value - since;
  return (
    <span class={`chip ${item.stage}`} data-testid="stage">
      <Icon name={item.stage === "writing" ? "pencil" : item.stage === "unanswered" ? "stop" : "clock"} />
      <span>
        {stageLine(item, run)}
        {item.stage === "writing" && lines > 0 && ` · ${lines} ${lines === 1 ? "line" : "lines"}`}
        {since !== null && <span class="elapsed"> · {duration(waited)}</span>}
        {item.stage === "running" && waited > LONG_S && (
          <span class="chip-more"> – it may be showing a dialog: look at its window</span>
        )}
        {item.stage === "queued" && timeout !== null && waited > LONG_S && (
          <span class="chip-more"> – gives up at {duration(timeout)}</span>
        )}
      </span>
    </span>
  );
}

/** When the present step began, where the log says so. */
function sinceWhen(item: ToolItem, run: RunState): number | null {
  if (item.stage === "running") return run.host?.busy_since ?? null;
  return item.stage === "queued" ? (run.waiting?.since ?? null) : null;
}
