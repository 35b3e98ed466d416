import { useDesk } from "../desk";
import type { Session } from "../wire";
import { Icon } from "./Icon";

export function SessionList({ onChoose }: { onChoose: () => void }) {
  const { catalog, talk } = useDesk();
  const sessions = catalog.sessions.value;
  const current = talk.sessionId.value;
  return (
    <>
      <a class="button wide" href="#/" data-testid="new-session" onClick={onChoose}>
        <Icon name="plus" />
        New session
      </a>
      <ul class="sessions" data-testid="sessions">
        {sessions.map((session) => (
          <li key={session.id}>
            <a
              href={`#/s/${encodeURIComponent(session.id)}`}
              aria-current={session.id === current ? "page" : undefined}
              onClick={onChoose}
            >
              <span class="session-title">{session.title || "Untitled"}</span>
              <span class="session-facts">
                {session.active_run !== null && <span class="session-running">running · </span>}
                <time dateTime={new Date(session.updated_at * 1000).toISOString()}>{when(session)}</time>
              </span>
            </a>
          </li>
        ))}
      </ul>
      {sessions.length === 0 && catalog.loaded.value && <p class="rail-empty">What you ask for will be kept here.</p>}
    </>
  );
}

function when(session: Session): string {
  const date = new Date(session.updated_at * 1000);
  const today = date.toDateString() === new Date().toDateString();
  return today
    ? date.toLocaleTimeString(undefined, { hour: "2-digit", minute: "2-digit" })
    : date.toLocaleDateString(undefined, { day: "numeric", month: "short" });
}
