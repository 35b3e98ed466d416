/** Reads a run's event stream and keeps reading it across drops. */

import { createParser } from "eventsource-parser";
import type { Chunk, LoggedEvent } from "./wire";

/** The server is never silent for longer than 15 s: three of those without a byte and the connection is dead. */
const SILENCE_MS = 45_000;
const FIRST_WAIT_MS = 500;
const LONGEST_WAIT_MS = 8_000;

/** The stream ended, broke or fell silent before the run did. The run itself goes on. */
export class Dropped extends Error {}

/** Yields the events of one response; returns at the end of its bytes, throws `Dropped` when they break off. */
export async function* readEvents(body: ReadableStream<Uint8Array>, silenceMs = SILENCE_MS): AsyncGenerator<LoggedEvent> {
  const arrived: LoggedEvent[] = [];
  const parser = createParser({
    onEvent: ({ id, data }) => {
      if (data) arrived.push({ seq: sequence(id), chunk: JSON.parse(data) as Chunk });
    },
  });
  const decoder = new TextDecoder();
  const reader = body.getReader();
  try {
    for (;;) {
      const { done, value } = await readWithin(reader, silenceMs);
      if (done) return;
      parser.feed(decoder.decode(value, { stream: true }));
      yield* arrived.splice(0);
    }
  } finally {
    await reader.cancel().catch(() => undefined); // of a stream that broke there is nothing left to cancel
  }
}

function sequence(id: string | undefined): number {
  const seq = Number(id);
  if (!Number.isSafeInteger(seq) || seq < 1) throw new Error(`The server sent an event with the id ${String(id)}.`);
  return seq;
}

async function readWithin(
  reader: ReadableStreamDefaultReader<Uint8Array>,
  silenceMs: number,
): Promise<ReadableStreamReadResult<Uint8Array>> {
  let timer: ReturnType<typeof setTimeout> | undefined;
  const silence = new Promise<never>((_, reject) => {
    timer = setTimeout(() => reject(new Dropped("silent")), silenceMs);
  });
  try {
    return await Promise.race([reader.read(), silence]);
  } catch (error) {
    // Browsers word a broken connection differently, but it is a TypeError in all of them.
    if (error instanceof TypeError) throw new Dropped("broken", { cause: error });
    throw error;
  } finally {
    clearTimeout(timer);
  }
}

export interface Following {
  /** The stream of the POST that started the run, while it lasts; without it the log is asked for at once. */
  readonly first?: ReadableStream<Uint8Array>;
  /** Asks for the log after a place in it. Rejects with `Dropped` when trying again makes sense. */
  open(after: number): Promise<ReadableStream<Uint8Array>>;
  /** Takes an event and says where the log now stands. */
  apply(event: LoggedEvent): { readonly lastSeq: number; readonly ended: boolean };
  /** How many attempts in a row have failed; 0 once events come again. */
  onAttempt(attempt: number): void;
  /** Resolves early when it makes sense to try at once. */
  pause(ms: number): Promise<void>;
  readonly signal: AbortSignal;
}

/** Reads until the run has ended or the signal aborts. What can't be helped by trying again is thrown. */
export async function follow({ first, open, apply, onAttempt, pause, signal }: Following): Promise<void> {
  let place = { lastSeq: 0, ended: false };
  let attempt = 0;
  let stream = first;
  while (!signal.aborted) {
    try {
      for await (const event of readEvents(stream ?? (await open(place.lastSeq)))) {
        if (signal.aborted) return;
        if (attempt > 0) onAttempt(0);
        attempt = 0;
        place = apply(event);
        if (place.ended) return;
      }
    } catch (error) {
      if (signal.aborted) return;
      if (!(error instanceof Dropped)) throw error;
    }
    if (signal.aborted) return;
    stream = undefined;
    attempt += 1;
    onAttempt(attempt);
    await pause(waitBefore(attempt));
  }
}

/** 0.5, 1, 2, 4, 8, 8… seconds, give or take a quarter, so that many pages don't come back in step. */
export function waitBefore(attempt: number, random = Math.random()): number {
  const wait = Math.min(FIRST_WAIT_MS * 2 ** (attempt - 1), LONGEST_WAIT_MS);
  return wait * (0.75 + random / 2);
}
