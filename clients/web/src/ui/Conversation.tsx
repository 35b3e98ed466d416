import { useEffect, useRef, useState } from "preact/hooks";
import { useDesk } from "../desk";
import { Icon } from "./Icon";
import { RunView } from "./RunView";
import { Welcome } from "./Welcome";

const NEAR_END = 64; // pixels

/** The log of the talk. It follows what is written for as long as the reader stays near its end. */
export function Conversation() {
  const { talk } = useDesk();
  const runs = talk.runs.value;
  const live = talk.loading.value || talk.sending.value || talk.active.value !== null;
  const { scroller, content, following, jump } = useFollowing(talk.sessionId.value, live);
  return (
    <div class="scroller" ref={scroller} tabIndex={0} role="region" aria-label="Conversation">
      <div
        class="talk"
        ref={content}
        role="log"
        aria-label="Messages"
        aria-live="off"
        aria-busy={talk.active.value !== null}
        data-testid="log"
      >
        {runs.length === 0 && !talk.loading.value && <Welcome />}
        {talk.loading.value && <p class="loading">Loading the conversation…</p>}
        {runs.map((run, index) => (
          <RunView key={index} run={run} />
        ))}
      </div>
      {!following && (
        <button type="button" class="button jump" data-testid="jump" onClick={jump}>
          <Icon name="down" />
          Jump to latest
        </button>
      )}
    </div>
  );
}

/** `live`: more is being written. What grows at other times was opened by the reader and must stay where it is. */
function useFollowing(sessionId: string | null, live: boolean) {
  const scroller = useRef<HTMLDivElement>(null);
  const content = useRef<HTMLDivElement>(null);
  const near = useRef(true);
  const growing = useRef(live);
  const [following, setFollowing] = useState(true);

  const jump = () => {
    const box = scroller.current;
    if (box === null) return;
    near.current = true;
    setFollowing(true);
    box.scrollTop = box.scrollHeight;
  };

  useEffect(jump, [sessionId]);
  useEffect(() => {
    if (near.current) jump();
    growing.current = live;
  }, [live]);
  useEffect(() => {
    const box = scroller.current;
    const inner = content.current;
    if (box === null || inner === null) return;
    const noteScroll = () => {
      near.current = box.scrollHeight - box.scrollTop - box.clientHeight < NEAR_END;
      setFollowing(near.current);
    };
    const keepUp = new ResizeObserver(() => {
      if (near.current && growing.current) box.scrollTop = box.scrollHeight;
    });
    box.addEventListener("scroll", noteScroll, { passive: true });
    keepUp.observe(inner);
    keepUp.observe(box);
    return () => {
      box.removeEventListener("scroll", noteScroll);
      keepUp.disconnect();
    };
  }, []);

  return { scroller, content, following, jump };
}
