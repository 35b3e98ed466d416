import type { Signal } from "@preact/signals";
import type { Item, RunState } from "../reduce";
import { EndLine } from "./EndLine";
import { Guard } from "./Guard";
import { REHEARSAL } from "./ModelPicker";
import { Prose } from "./Prose";
import { Thinking } from "./Thinking";
import { ToolCard } from "./ToolCard";
import { Waiting } from "./Waiting";

/** One message and all that came of it. */
export function RunView({ run }: { run: Signal<RunState> }) {
  const state = run.value;
  if (!state.message && state.lastSeq === 0 && state.end === null) return null;
  return (
    <article class="run" aria-label={`Request: ${state.message.slice(0, 80)}`} data-testid="run" data-run={state.id}>
      <div class="user" data-testid="user-message">
        <h2 class="unseen">You</h2>
        <p>{state.message}</p>
      </div>
      {state.model && (
        <p class="byline">
          {state.model.rehearsal ? <span class="badge amber">{REHEARSAL}</span> : state.model.label}
          {state.mode === "read_only" && <span class="badge">Read-only</span>}
        </p>
      )}
      {state.items.map((item, index) => (
        <Guard key={item.key}>
          <ItemView item={item} run={state} newest={index === state.items.length - 1} />
        </Guard>
      ))}
      {state.end === null && <Waiting run={state} />}
      {state.end && <EndLine end={state.end} />}
    </article>
  );
}

function ItemView({ item, run, newest }: { item: Item; run: RunState; newest: boolean }) {
  const growing = newest && run.end === null;
  switch (item.kind) {
    case "thinking":
      return <Thinking text={item.text} growing={growing} />;
    case "message":
      return <Prose text={item.text} />;
    case "marker":
      return (
        <p class="marker" data-testid="marker">
          <span>{item.text}</span>
        </p>
      );
    case "tool":
      return <ToolCard item={item} run={run} />;
  }
}
