import { useDesk } from "../desk";
import { hostName } from "../words";
import { MESSAGE_BOX } from "./Composer";

const EXAMPLES = 4;

/** An empty session: what will be worked on, and what one may ask. */
export function Welcome() {
  const { catalog, draft } = useDesk();
  const host = catalog.host.value;
  const examples = host?.examples.slice(0, EXAMPLES) ?? [];
  const take = (example: string) => {
    draft.value = example;
    document.getElementById(MESSAGE_BOX)?.focus();
  };
  return (
    <div class="welcome" data-testid="welcome">
      <h2>{host?.online && host.document ? host.document.title : "Say what you want done"}</h2>
      {host?.online ? (
        <p>
          Open in {hostName(host.application)} {host.application.version}. Ask about it, or say what should change: you will see
          the script, what it changed and a picture.
        </p>
      ) : (
        <p>
          {host ? `${hostName(host.application)} is offline.` : "No desktop application is connected yet."} You can write already;
          a run waits until it is there.
        </p>
      )}
      {examples.length === 0 ? (
        <p>For a start: “What is in this model?”</p>
      ) : (
        <div class="examples" role="group" aria-label="Examples to start with">
          {examples.map((example) => (
            <button key={example} type="button" class="button" data-testid="example" onClick={() => take(example)}>
              {example}
            </button>
          ))}
        </div>
      )}
    </div>
  );
}
