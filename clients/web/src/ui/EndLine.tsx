import type { End } from "../reduce";
import { costLine, counted, countsLine, duration, limitLine, tokensLine } from "../words";
import { Icon } from "./Icon";

/** How a run ended, and what it took. */
export function EndLine({ end }: { end: End }) {
  if (end.kind === "complete") {
    const { limit } = end;
    return (
      <p class={limit ? "end warn" : "end good"} data-testid="end" data-end={limit ? "limit" : "complete"}>
        <Icon name={limit ? "stop" : "check"} />
        <span>
          <strong>{limit ? limitLine(limit) : "Done"}</strong>
          {facts(end).map((fact) => (
            <span key={fact}> · {fact}</span>
          ))}
          {limit && <span class="end-more">There may be more to do: your next message goes on with fresh limits.</span>}
        </span>
      </p>
    );
  }
  const stopped = end.code === "cancelled";
  return (
    <div class={stopped ? "end quiet" : "end bad"} data-testid="end" data-end={stopped ? "stopped" : "error"}>
      <Icon name={stopped ? "stop" : "cross"} />
      <span>
        <strong>{stopped ? "Stopped" : "Failed"}</strong>
        {end.text && <span> · {end.text}</span>}
        {end.retryable && <span> You can send it again.</span>}
      </span>
    </div>
  );
}

function facts(end: Extract<End, { kind: "complete" }>): string[] {
  const { changed, counters, seconds, usage } = end;
  return [
    changed && countsLine(changed),
    counters && counters.scripts > 0 && counted(counters.scripts, "script"),
    seconds !== null && duration(seconds),
    usage && tokensLine(usage),
    usage && usage.cost_usd !== null && costLine(usage.cost_usd),
  ].filter((fact): fact is string => typeof fact === "string");
}
