import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { Dropped, follow, type Following, readEvents, waitBefore } from "../src/sse";
import type { LoggedEvent } from "../src/wire";

const encoder = new TextEncoder();

function frame(seq: number, type: string, content: string): string {
  return `id: ${seq}\nevent: ${type}\ndata: ${JSON.stringify({ type, content, metadata: {} })}\n\n`;
}

function streamOf(pieces: readonly Uint8Array[], end: "close" | "break" | "hang" = "close"): ReadableStream<Uint8Array> {
  let next = 0;
  return new ReadableStream({
    pull(controller) {
      const piece = pieces[next++];
      if (piece) controller.enqueue(piece);
      else if (end === "close") controller.close();
      else if (end === "break") controller.error(new TypeError("network error"));
      else return new Promise<void>(() => undefined);
      return undefined;
    },
  });
}

async function collect(stream: ReadableStream<Uint8Array>): Promise<LoggedEvent[]> {
  const events: LoggedEvent[] = [];
  for await (const event of readEvents(stream)) events.push(event);
  return events;
}

/** The bytes cut at random places, also inside a character. */
const cutBytes = (text: string) => {
  const bytes = encoder.encode(text);
  return fc.uniqueArray(fc.nat({ max: bytes.length }), { maxLength: 20 }).map((places) => {
    const sorted = [0, ...places.toSorted((a, b) => a - b), bytes.length];
    return sorted.slice(1).map((place, index) => bytes.slice(sorted[index], place));
  });
};

describe("reading a response", () => {
  test("gives the same events however the bytes are cut and lines are ended", async () => {
    const log = fc
      .tuple(fc.array(fc.string({ unit: "binary" }), { maxLength: 6 }), fc.constantFrom("\n", "\r\n", "\r"))
      .chain(([texts, newline]) => {
        const body = texts.map((text, index) => `: keepalive\n\n${frame(index + 1, "Message", text)}`).join("");
        return fc.record({ texts: fc.constant(texts), pieces: cutBytes(`retry: 500\n${body}: keepalive\n`.replaceAll("\n", newline)) });
      });
    await fc.assert(
      fc.asyncProperty(log, async ({ texts, pieces }) => {
        const events = await collect(streamOf(pieces));
        expect(events.map((event) => event.seq)).toEqual(texts.map((_, index) => index + 1));
        expect(events.map((event) => event.chunk.content)).toEqual(texts);
      }),
      { numRuns: 300 },
    );
  });

  test("leaves an unfinished event at the end aside", async () => {
    const cut = frame(1, "Message", "a") + frame(2, "Message", "b").slice(0, -1);
    expect((await collect(streamOf([encoder.encode(cut)]))).map((event) => event.seq)).toEqual([1]);
  });

  test("calls a broken connection a drop", async () => {
    await expect(collect(streamOf([encoder.encode(frame(1, "Message", "a"))], "break"))).rejects.toBeInstanceOf(Dropped);
  });

  test("calls silence a drop", async () => {
    await expect(readEvents(streamOf([], "hang"), 5).next()).rejects.toBeInstanceOf(Dropped);
  });

  test("refuses an event without a number", async () => {
    const bad = `data: ${JSON.stringify({ type: "Message", content: "a", metadata: {} })}\n\n`;
    await expect(collect(streamOf([encoder.encode(bad)]))).rejects.toThrow("with the id");
  });
});

/** Follows a made-up server: each answer is what the next request gets. */
async function followThrough(
  answers: readonly (string | Error | { text: string; end: "break" })[],
  options: { first?: string; signal?: AbortSignal } = {},
) {
  const asked: number[] = [];
  const attempts: number[] = [];
  const seen: number[] = [];
  let turn = 0;
  const following: Following = {
    ...(options.first !== undefined && { first: streamOf([encoder.encode(options.first)], "break") }),
    open: async (after) => {
      asked.push(after);
      const answer = answers[turn++] ?? new Error("asked too often");
      if (answer instanceof Error) throw answer;
      if (typeof answer === "string") return streamOf([encoder.encode(answer)]);
      return streamOf([encoder.encode(answer.text)], answer.end);
    },
    apply: ({ seq, chunk }) => {
      seen.push(seq);
      return { lastSeq: Math.max(...seen), ended: chunk.type === "Complete" || chunk.type === "Error" };
    },
    onAttempt: (attempt) => attempts.push(attempt),
    pause: async () => undefined,
    signal: options.signal ?? new AbortController().signal,
  };
  await follow(following);
  return { asked, attempts, seen };
}

const [ONE, TWO, END] = [frame(1, "Message", "a"), frame(2, "Message", "b"), frame(3, "Complete", "ab")];

describe("following a run", () => {
  test("asks for the log from its beginning and stops at the end of the run", async () => {
    expect(await followThrough([ONE + TWO + END])).toEqual({ asked: [0], attempts: [], seen: [1, 2, 3] });
  });

  test("goes on after the last event it has when the connection breaks", async () => {
    const { asked, attempts, seen } = await followThrough([TWO + END], { first: ONE });
    expect(asked).toEqual([1]);
    expect(seen).toEqual([1, 2, 3]);
    expect(attempts).toEqual([1, 0]);
  });

  test("takes a clean end of the stream before the end of the run as a drop", async () => {
    expect((await followThrough([ONE, TWO + END])).asked).toEqual([0, 1]);
  });

  test("counts attempts until events come again", async () => {
    const { attempts } = await followThrough([new Dropped("1"), "", { text: ": keepalive\n\n", end: "break" }, ONE + END]);
    expect(attempts).toEqual([1, 2, 3, 0]);
  });

  test("gives up on what trying again can't help", async () => {
    await expect(followThrough([ONE, new Error("410")])).rejects.toThrow("410");
  });

  test("asks for nothing once it was aborted", async () => {
    expect((await followThrough([], { first: ONE, signal: AbortSignal.abort() })).asked).toEqual([]);
  });
});

test("waits double up to 8 s, a quarter more or less", () => {
  expect([1, 2, 3, 4, 5, 9].map((attempt) => waitBefore(attempt, 0.5))).toEqual([500, 1000, 2000, 4000, 8000, 8000]);
  expect([waitBefore(1, 0), waitBefore(1, 1)]).toEqual([375, 625]);
});
