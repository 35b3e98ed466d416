/** The conversation that is open: its runs, each a function of its log, and what a person can do with them. */

import { computed, signal, type Signal } from "@preact/signals";
import { type Api, type NewRun, Problem, Unreachable } from "./api";
import { pause } from "./pause";
import { abandon, newRun, reduce, type RunState } from "./reduce";
import { follow } from "./sse";
import type { Session } from "./wire";

export interface Notice {
  readonly title: string;
  readonly detail: string;
}

export interface TalkEvents {
  /** The session was read from the server. */
  opened(session: Session): void;
  /** A message began a new session, or a run ended: the list of sessions has changed. */
  changed(sessionId: string): void;
}

export class Talk {
  readonly sessionId = signal<string | null>(null);
  readonly runs = signal<readonly Signal<RunState>[]>([]);
  readonly loading = signal(false);
  readonly sending = signal(false);
  readonly stopping = signal(false);
  /** Attempts since the connection to the active run was lost; 0 while it is well. */
  readonly attempt = signal(0);
  readonly notice = signal<Notice | null>(null);
  private readonly activeId = signal<string | null>(null);
  readonly active = computed(() => this.runs.value.find((run) => run.value.id === this.activeId.value) ?? null);

  private leaving = new AbortController();
  private unsure: { readonly message: string; readonly key: string } | null = null;

  constructor(
    private readonly api: Api,
    private readonly events: TalkEvents,
  ) {}

  /** Shows a session by replaying its runs, and follows the one that is still going; null for a new one. */
  async open(id: string | null): Promise<void> {
    const signal = this.leave();
    this.sessionId.value = id;
    if (id === null) return;
    this.loading.value = true;
    try {
      const { session, runs } = await this.api.session(id, signal);
      if (signal.aborted) return;
      this.events.opened(session);
      const shown = runs.map((run) => ({ live: run.state === "running", state: newState(newRun(run.id)) }));
      this.runs.value = shown.map((run) => run.state);
      for (const run of shown) {
        if (run.live) this.loading.value = false;
        await this.read(run.state, run.live, signal);
      }
    } catch (error) {
      if (!signal.aborted) this.notice.value = noticeOf(error, "The conversation can't be opened");
    } finally {
      if (!signal.aborted) this.loading.value = false;
    }
  }

  /** Sends a message. False when it wasn't taken, so that the text can be given back. */
  async send(run: Omit<NewRun, "session_id">): Promise<boolean> {
    const { signal } = this.leaving;
    const session = this.sessionId.value;
    const state = newState(newRun("", run.message));
    this.notice.value = null;
    this.sending.value = true;
    this.runs.value = [...this.runs.value, state];
    const key = this.unsure?.message === run.message ? this.unsure.key : randomKey();
    try {
      const started = await this.api.startRun(session ? { ...run, session_id: session } : run, key, signal);
      if (signal.aborted) return true; // another conversation was opened: this one is read again when it is
      this.unsure = null;
      this.sending.value = false;
      state.value = { ...state.value, id: started.id };
      void this.read(state, true, signal, started.stream);
      return true;
    } catch (error) {
      if (signal.aborted) return true;
      this.sending.value = false;
      this.runs.value = this.runs.value.filter((each) => each !== state);
      if (error instanceof Unreachable) this.unsure = { message: run.message, key };
      if (error instanceof Problem && error.status === 409 && session) await this.open(session);
      this.notice.value = noticeOf(error, "The message wasn't sent");
      return false;
    }
  }

  /** Asks the server to stop the active run; the log says when it has. */
  async stop(): Promise<void> {
    const run = this.activeId.value;
    if (run === null) return;
    this.stopping.value = true;
    try {
      await this.api.cancel(run);
    } catch (error) {
      this.stopping.value = false;
      this.notice.value = noticeOf(error, "The run could not be stopped");
    }
  }

  /** Whether a run is shown here, or may be the one that is just being started. */
  knows(run: string): boolean {
    const starting = this.sending.peek() || this.loading.peek();
    return starting || this.runs.peek().some((state) => state.peek().id === run);
  }

  private leave(): AbortSignal {
    this.leaving.abort();
    this.leaving = new AbortController();
    this.runs.value = [];
    this.activeId.value = null;
    this.loading.value = this.sending.value = this.stopping.value = false;
    this.attempt.value = 0;
    this.notice.value = null;
    return this.leaving.signal;
  }

  /** Reads one run's log to its end. What goes wrong is said in the place of that run. */
  private async read(
    state: Signal<RunState>,
    live: boolean,
    signal: AbortSignal,
    first?: ReadableStream<Uint8Array>,
  ): Promise<void> {
    const { id } = state.value;
    if (live) this.activeId.value = id;
    try {
      await follow({
        ...(first && { first }),
        open: (after) => this.api.events(id, after, signal),
        apply: (event) => {
          state.value = reduce(state.value, event);
          this.noteSession(state.value);
          return { lastSeq: state.value.lastSeq, ended: state.value.end !== null };
        },
        onAttempt: (attempt) => {
          if (!signal.aborted) this.attempt.value = attempt;
        },
        pause: (ms) => pause(ms, signal),
        signal,
      });
    } catch (error) {
      if (signal.aborted) return;
      const { title, detail } = noticeOf(error, "The log of this run can't be read");
      state.value = abandon(state.value, `${title}. ${detail}`);
    }
    if (signal.aborted || !live) return;
    this.activeId.value = null;
    this.stopping.value = false;
    this.attempt.value = 0;
    if (this.sessionId.value) this.events.changed(this.sessionId.value);
  }

  private noteSession(run: RunState): void {
    if (this.sessionId.value !== null || run.sessionId === null) return;
    this.sessionId.value = run.sessionId;
    this.events.changed(run.sessionId);
  }
}

/** `signal` names the abort signal in most functions here. */
function newState(run: RunState): Signal<RunState> {
  return signal(run);
}

function randomKey(): string {
  return Array.from(crypto.getRandomValues(new Uint8Array(16)), (byte) => byte.toString(16).padStart(2, "0")).join("");
}

function noticeOf(error: unknown, title: string): Notice {
  if (error instanceof Problem) return { title, detail: `${error.title}: ${error.message}` };
  if (error instanceof Unreachable) return { title, detail: `${error.message} Is it still running?` };
  console.error(error);
  return { title, detail: String(error) };
}
