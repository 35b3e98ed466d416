import { useEffect, useRef } from "preact/hooks";
import { useDesk } from "../desk";
import type { Mode } from "../wire";
import { Icon } from "./Icon";
import { REHEARSAL } from "./ModelPicker";

export const MESSAGE_BOX = "message";
const LONGEST = 200; // pixels: eight lines

/** Where a message is written. Send and Stop share one place; Esc never stops. */
export function Composer() {
  const { talk, catalog, draft } = useDesk();
  const text = draft.value;
  const area = useRef<HTMLTextAreaElement>(null);
  const model = catalog.model.value;
  const running = talk.active.value !== null;
  const sendable = !running && !talk.sending.value && !talk.loading.value && model !== null;

  useEffect(() => {
    const element = area.current;
    if (element === null) return;
    element.style.height = "auto";
    element.style.height = `${Math.min(element.scrollHeight, LONGEST)}px`;
  }, [text]);

  const send = async () => {
    const message = text.trim();
    if (!message || !sendable) return;
    draft.value = "";
    const host = catalog.host.value;
    const run = { message, model: model.id, mode: catalog.mode.value, ...(host && { host_id: host.id }) };
    const taken = await talk.send(run);
    if (!taken) draft.value ||= message;
  };

  return (
    <form
      class="composer"
      onSubmit={(event) => {
        event.preventDefault();
        void send();
      }}
    >
      <label for={MESSAGE_BOX} class="unseen">
        Ask for a change or a question
      </label>
      <textarea
        id={MESSAGE_BOX}
        ref={area}
        rows={1}
        value={text}
        placeholder="Ask for a change or a question"
        onInput={(event) => {
          draft.value = event.currentTarget.value;
        }}
        onKeyDown={(event) => {
          if (event.key !== "Enter" || event.shiftKey || event.isComposing) return;
          event.preventDefault();
          void send();
        }}
      />
      <div class="composer-row">
        <ModeSelect />
        {model?.rehearsal && (
          <span class="badge amber" data-testid="rehearsal-badge">
            {REHEARSAL}
          </span>
        )}
        {running ? (
          <button
            type="button"
            class="button stop"
            data-testid="stop"
            disabled={talk.stopping.value}
            onClick={() => void talk.stop()}
          >
            <Icon name="stop" />
            Stop
          </button>
        ) : (
          <button type="submit" class="button primary" data-testid="send" disabled={!sendable || !text.trim()}>
            <Icon name="send" />
            Send
          </button>
        )}
      </div>
    </form>
  );
}

function ModeSelect() {
  const { mode } = useDesk().catalog;
  return (
    <select
      class="mode"
      aria-label="Mode"
      data-testid="mode"
      value={mode.value}
      onChange={(event) => {
        mode.value = event.currentTarget.value as Mode;
      }}
    >
      <option value="auto">Automatic</option>
      <option value="read_only">Read-only</option>
    </select>
  );
}
