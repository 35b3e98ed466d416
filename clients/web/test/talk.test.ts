import { describe, expect, test } from "vitest";
import { type Api, Problem, Unreachable } from "../src/api";
import { Talk } from "../src/talk";
import type { Chunk, Session } from "../src/wire";

const RUN = { message: "Rename the doors", model: "m", mode: "auto" as const };
const SESSION = { id: "s1", title: "Doors", model: "m", host_id: "h", mode: "auto", active_run: null } as Session;

function log(run: string, ...chunks: Chunk[]): ReadableStream<Uint8Array> {
  const facts = { kind: "run_started", run_id: run, session_id: "s1", message: `asked in ${run}`, mode: "auto", title: "Doors" };
  const all: Chunk[] = [{ type: "Metadata", content: "Started", metadata: facts }, ...chunks];
  const text = all.map((chunk, index) => `id: ${index + 1}\ndata: ${JSON.stringify(chunk)}\n\n`).join("");
  return new Blob([text]).stream();
}

const done: Chunk = { type: "Complete", content: "Done.", metadata: {} };

/** A talk over a server of which only the named calls exist, and what became known of the session. */
function talkWith(server: Partial<Record<keyof Api, unknown>>) {
  const changes: string[] = [];
  const talk = new Talk(server as unknown as Api, { opened: () => undefined, changed: (id) => changes.push(id) });
  return { talk, changes };
}

const endOf = (talk: Talk, index: number) => talk.runs.value[index]?.value.end?.kind;

describe("a message", () => {
  test("begins a session and is followed to its end", async () => {
    const { talk, changes } = talkWith({ startRun: async () => ({ id: "r1", stream: log("r1", done) }) });
    expect(await talk.send(RUN)).toBe(true);
    await expect.poll(() => talk.active.value).toBeNull();
    expect(talk.sessionId.value).toBe("s1");
    expect(endOf(talk, 0)).toBe("complete");
    expect(changes).toEqual(["s1", "s1"]);
  });

  test("that got no answer is given back, and sent again under the same key", async () => {
    const keys: string[] = [];
    const { talk } = talkWith({
      startRun: async (_run: unknown, key: string) => {
        keys.push(key);
        throw new Unreachable("The server can't be reached.");
      },
    });
    expect(await talk.send(RUN)).toBe(false);
    expect(await talk.send(RUN)).toBe(false);
    expect(await talk.send({ ...RUN, message: "Something else" })).toBe(false);
    expect(keys[1]).toBe(keys[0]);
    expect(keys[2]).not.toBe(keys[0]);
    expect(talk.runs.value).toEqual([]);
    expect(talk.notice.value).toMatchObject({ title: "The message wasn't sent" });
  });

  test("that was refused is sent under a new key the next time", async () => {
    const keys: string[] = [];
    const { talk } = talkWith({
      startRun: async (_run: unknown, key: string) => {
        keys.push(key);
        throw new Problem(422, "Not a model", "There is no model 'm'.");
      },
    });
    await talk.send(RUN);
    await talk.send(RUN);
    expect(new Set(keys).size).toBe(2);
    expect(talk.notice.value?.detail).toBe("Not a model: There is no model 'm'.");
  });

  test("to a session where a run is active shows that run instead", async () => {
    const { talk } = talkWith({
      startRun: async () => {
        throw new Problem(409, "A run is active", "Run r7 is not finished.");
      },
      session: async () => ({ session: SESSION, runs: [{ id: "r7", state: "running", started_at: 1 }] }),
      events: async () => log("r7", done),
    });
    await talk.open("s1");
    expect(await talk.send(RUN)).toBe(false);
    expect(talk.runs.value.map((run) => run.value.message)).toEqual(["asked in r7"]);
    expect(talk.notice.value?.detail).toContain("Run r7 is not finished");
  });
});

describe("a session that is opened", () => {
  const runs = ["r1", "r2", "r3"].map((id) => ({ id, state: "complete", started_at: 1 }));

  test("is replayed run by run, oldest first", async () => {
    const { talk } = talkWith({
      session: async () => ({ session: SESSION, runs }),
      events: async (run: string) => log(run, done),
    });
    await talk.open("s1");
    expect(talk.runs.value.map((run) => run.value.message)).toEqual(["asked in r1", "asked in r2", "asked in r3"]);
    expect(talk.active.value).toBeNull();
    expect(talk.loading.value).toBe(false);
  });

  test("says in its place which run can't be read, and shows the others", async () => {
    const { talk } = talkWith({
      session: async () => ({ session: SESSION, runs }),
      events: async (run: string) => {
        if (run === "r2") throw new Problem(410, "Gone", "The log of this run has expired.");
        return log(run, done);
      },
    });
    await talk.open("s1");
    expect(talk.runs.value.map((_, index) => endOf(talk, index))).toEqual(["complete", "error", "complete"]);
    expect(talk.runs.value[1]?.value.end).toMatchObject({ text: expect.stringContaining("has expired") });
  });

  test("is left without a trace when another one is opened meanwhile", async () => {
    let answer: (value: unknown) => void = () => undefined;
    const { talk } = talkWith({
      session: (id: string) => (id === "slow" ? new Promise((resolve) => (answer = resolve)) : { session: SESSION, runs: [] }),
      events: async (run: string) => log(run, done),
    });
    const slow = talk.open("slow");
    await talk.open("s1");
    answer({ session: { ...SESSION, id: "slow" }, runs });
    await slow;
    expect(talk.sessionId.value).toBe("s1");
    expect(talk.runs.value).toEqual([]);
    expect(talk.notice.value).toBeNull();
  });
});

test("a stop that the server didn't take can be tried again", async () => {
  const { talk } = talkWith({
    startRun: async () => ({ id: "r1", stream: new ReadableStream() }),
    cancel: async () => {
      throw new Unreachable("The server can't be reached.");
    },
  });
  await talk.send(RUN);
  await talk.stop();
  expect(talk.stopping.value).toBe(false);
  expect(talk.notice.value?.title).toBe("The run could not be stopped");
  await talk.open(null);
});
