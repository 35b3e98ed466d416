import { useSignal } from "@preact/signals";
import { useEffect } from "preact/hooks";
import { useDesk } from "../desk";
import { Composer } from "./Composer";
import { Conversation } from "./Conversation";
import { Notices } from "./Notices";
import { SessionList } from "./SessionList";
import { StatusLine } from "./StatusLine";
import { TopBar } from "./TopBar";

/** The page's frame: bar, rail of sessions, conversation with its composer. */
export function Frame() {
  const { talk, catalog } = useDesk();
  const railOpen = useSignal(false);
  const id = talk.sessionId.value;
  const title = catalog.sessions.value.find((session) => session.id === id)?.title;
  useEffect(() => {
    document.title = title ? `${title} – Drafthand` : "Drafthand";
  }, [title]);
  const close = () => {
    railOpen.value = false;
  };
  return (
    <div class="frame" onKeyDown={(event) => event.key === "Escape" && close()}>
      <TopBar railOpen={railOpen} />
      <nav id="rail" class={railOpen.value ? "rail open" : "rail"} aria-label="Sessions">
        <SessionList onChoose={close} />
      </nav>
      {railOpen.value && <div class="scrim" onClick={close} />}
      <main class="centre">
        <Conversation />
        <div class="foot">
          <Notices />
          <StatusLine />
          <Composer />
        </div>
      </main>
    </div>
  );
}
