import { useComputed } from "@preact/signals";
import { useDesk } from "../desk";
import { statusOf } from "../words";

/** The one thing that is spoken: the step the newest run is at. */
export function StatusLine() {
  const { talk } = useDesk();
  const text = useComputed(() => {
    const run = talk.runs.value.at(-1);
    if (run === undefined || talk.loading.value) return "";
    if (talk.stopping.value) return "Stopping";
    return talk.sending.value ? "Sending" : statusOf(run.value);
  });
  const busy = talk.active.value !== null || talk.sending.value;
  return (
    <p id="status" role="status" class={busy ? "status busy" : "status"} data-testid="status">
      {text}
    </p>
  );
}
