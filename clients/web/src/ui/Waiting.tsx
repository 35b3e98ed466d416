import { now } from "../clock";
import type { RunState } from "../reduce";
import { duration } from "../words";

/** Shown while nothing is being written and no card speaks for itself. */
export function Waiting({ run }: { run: RunState }) {
  const last = run.items.at(-1);
  if (last?.kind === "tool" && last.stage !== "done") return null;
  if (run.waiting) {
    return (
      <p class="pending" data-testid="waiting">
        {run.waiting.text}{" "}
        {run.waiting.since !== null && <span class="elapsed">{duration(now.value - run.waiting.since)}</span>}
      </p>
    );
  }
  if (last?.kind === "thinking" || last?.kind === "message") return null;
  return <p class="pending">Waiting for the model</p>;
}
