import { useDesk } from "../desk";

/** What went wrong outside the log: the connection, or an act of the user that wasn't taken. */
export function Notices() {
  const { talk, catalog } = useDesk();
  const notice = talk.notice.value;
  const attempt = talk.attempt.value;
  return (
    <>
      {attempt > 0 && (
        <p class="strip warn" data-testid="reconnecting">
          Connection lost – the run goes on. Reconnecting…{attempt > 1 && ` (${attempt})`}
        </p>
      )}
      {attempt === 0 && catalog.unreachable.value && (
        <p class="strip warn" data-testid="unreachable">
          The server can't be reached. Trying again every few seconds.
        </p>
      )}
      {notice && (
        <div class="strip bad" role="alert" data-testid="notice">
          <p>
            <strong>{notice.title}.</strong> {notice.detail}
          </p>
          <button
            type="button"
            class="button bare"
            onClick={() => {
              talk.notice.value = null;
            }}
          >
            Dismiss
          </button>
        </div>
      )}
    </>
  );
}
