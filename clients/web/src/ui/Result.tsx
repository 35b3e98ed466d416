import type { ScriptError, ToolResult } from "../wire";
import { countsLine, duration, hostName } from "../words";
import { Output } from "./Output";
import { Picture } from "./Picture";
import { ReportView } from "./Report";

/** What the host answered, in the order a person asks: what happened, what changed, how it looks, what it printed. */
export function Result({ result }: { result: ToolResult }) {
  return (
    <div class="result" data-testid="result">
      {result.late && <p class="note">This result arrived after the wait for it had ended.</p>}
      <p class="summary" data-testid="summary">
        {result.summary || (result.changed && countsLine(result.changed))}
      </p>
      {result.error && <Failure error={result.error} />}
      {result.notes.length > 0 && (
        <ul class="notes" aria-label="Notes" data-testid="notes">
          {result.notes.map((note, index) => (
            <li key={index}>{note}</li>
          ))}
        </ul>
      )}
      {result.report && <ReportView report={result.report} url={result.report_url} />}
      {result.images.length > 0 && (
        <div class="pictures">
          {result.images.map((picture) => (
            <Picture key={picture.url} picture={picture} />
          ))}
        </div>
      )}
      <Output result={result} />
      <p class="fine">
        {hostName(result.host?.application)}
        {result.host?.application?.version && ` ${result.host.application.version}`} · {took(result.seconds)}
        {result.script_sha256 && (
          <>
            {" "}
            · script <code title={result.script_sha256}>{result.script_sha256.slice(0, 12)}</code>
          </>
        )}
      </p>
    </div>
  );
}

function took(seconds: number): string {
  return seconds < 60 ? `${seconds.toFixed(seconds < 10 ? 1 : 0)} s` : duration(seconds);
}

function Failure({ error }: { error: ScriptError }) {
  return (
    <div class="failure" data-testid="script-error">
      <p class="failure-head">
        <strong>{error.type}</strong>
        {error.line !== null && ` in line ${error.line}`}
      </p>
      <p class="failure-text">{error.message}</p>
    </div>
  );
}
