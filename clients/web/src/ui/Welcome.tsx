import { useDesk } from "../desk";
import { hostName } from "../words";

/** An empty session: what will be worked on, and what one may ask. */
export function Welcome() {
  const { catalog } = useDesk();
  const host = catalog.host.value;
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
      <p>For a start: “What is in this model?”</p>
    </div>
  );
}
