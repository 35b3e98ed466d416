import { effect, signal } from "@preact/signals";
import { useEffect, useState } from "preact/hooks";
import { Api } from "../api";
import { Catalog } from "../catalog";
import { type Desk, DeskContext } from "../desk";
import { Talk } from "../talk";
import { forgetToken, keepToken, takeToken } from "../token";
import { Frame } from "./Frame";
import { SignIn } from "./SignIn";

const token = signal(takeToken());
const refused = signal(false);

export function App() {
  if (token.value === null) return <SignIn refused={refused.value} onToken={accept} />;
  return <Workplace key={token.value} token={token.value} />;
}

function accept(text: string): void {
  keepToken(text);
  refused.value = false;
  token.value = text;
}

function Workplace({ token: text }: { token: string }) {
  const [desk] = useState(() => makeDesk(text));
  useEffect(() => {
    const living = new AbortController();
    void desk.catalog.keepFresh(living.signal);
    const go = () => {
      const fresh = takeToken();
      if (fresh !== null && fresh !== token.value) token.value = fresh;
      const id = sessionInAddress();
      if (id !== desk.talk.sessionId.value) void desk.talk.open(id);
    };
    window.addEventListener("hashchange", go, { signal: living.signal });
    go();
    const stopJoining = effect(() => joinNewRun(desk));
    return () => {
      stopJoining();
      living.abort();
    };
  }, [desk]);
  return (
    <DeskContext.Provider value={desk}>
      <Frame />
    </DeskContext.Provider>
  );
}

function makeDesk(text: string): Desk {
  const api = new Api(text, () => {
    forgetToken();
    refused.value = true;
    token.value = null;
  });
  const catalog = new Catalog(api);
  const talk = new Talk(api, {
    opened: (session) => catalog.adopt(session),
    changed: (sessionId) => {
      history.replaceState(null, "", `#/s/${encodeURIComponent(sessionId)}`);
      void catalog.refresh();
    },
  });
  return { api, catalog, talk, draft: signal("") };
}

/** A run of the open session that was started elsewhere (another tab, the command line) is shown here as well. */
function joinNewRun({ catalog, talk }: Desk): void {
  const session = catalog.sessions.value.find((each) => each.id === talk.sessionId.peek());
  if (session?.active_run && !talk.knows(session.active_run)) void talk.open(session.id);
}

function sessionInAddress(): string | null {
  const match = /^#\/s\/([^/?]+)/.exec(location.hash);
  return match?.[1] === undefined ? null : decodeURIComponent(match[1]);
}
