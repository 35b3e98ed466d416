/** The server's HTTP interface. */

import { Dropped } from "./sse";
import type { Host, Mode, Model, Session, StoredRun } from "./wire";

const HEADERS_WITHIN_MS = 45_000;

/** What the server answered instead of what was asked for (RFC 9457). */
export class Problem extends Error {
  readonly status: number;
  readonly title: string;

  constructor(status: number, title: string, detail: string) {
    super(detail || title);
    this.status = status;
    this.title = title;
  }
}

/** No answer at all: whether the request arrived isn't known. */
export class Unreachable extends Error {}

export interface NewRun {
  readonly message: string;
  readonly model: string;
  readonly session_id?: string;
  readonly host_id?: string;
  readonly mode: Mode;
}

export class Api {
  constructor(
    private readonly token: string,
    private readonly onUnauthorized: () => void,
  ) {}

  async models(): Promise<Model[]> {
    return ((await this.json("/api/models")) as { models: Model[] }).models;
  }

  async hosts(): Promise<Host[]> {
    return ((await this.json("/api/hosts")) as { hosts: Host[] }).hosts;
  }

  async sessions(): Promise<Session[]> {
    return ((await this.json("/api/sessions")) as { sessions: Session[] }).sessions;
  }

  async session(id: string, signal: AbortSignal): Promise<{ session: Session; runs: StoredRun[] }> {
    return (await this.json(`/api/sessions/${encodeURIComponent(id)}`, { signal })) as {
      session: Session;
      runs: StoredRun[];
    };
  }

  /** Starts a run. `key` makes sending the same message again after a lost answer harmless. */
  async startRun(run: NewRun, key: string, signal: AbortSignal): Promise<{ id: string; stream: ReadableStream<Uint8Array> }> {
    const response = await this.request("/api/runs", {
      method: "POST",
      headers: { "Content-Type": "application/json", "Idempotency-Key": key },
      body: JSON.stringify(run),
      signal,
    });
    const id = response.headers.get("X-Run-Id");
    if (id === null) throw new Problem(502, "Not a Drafthand server", "The answer carries no X-Run-Id.");
    return { id, stream: bodyOf(response) };
  }

  /** The log of a run after a place in it, then what follows. */
  async events(run: string, after: number, signal: AbortSignal): Promise<ReadableStream<Uint8Array>> {
    const slow = new AbortController();
    const timer = setTimeout(() => slow.abort(), HEADERS_WITHIN_MS);
    try {
      const response = await this.request(`/api/runs/${encodeURIComponent(run)}/events`, {
        headers: { "Last-Event-ID": String(after) },
        signal: AbortSignal.any([signal, slow.signal]),
      });
      return bodyOf(response);
    } catch (error) {
      const busy = error instanceof Problem && (error.status >= 500 || error.status === 429);
      if (busy || error instanceof Unreachable || slow.signal.aborted) throw new Dropped("refused", { cause: error });
      throw error;
    } finally {
      clearTimeout(timer);
    }
  }

  async cancel(run: string): Promise<void> {
    await this.request(`/api/runs/${encodeURIComponent(run)}/cancel`, { method: "POST" });
  }

  /** A text that the server refers to by address. */
  async text(url: string, signal: AbortSignal): Promise<string> {
    return (await this.request(url, { signal })).text();
  }

  /** The bytes that the server refers to by address, or a range of them. */
  async bytes(url: string, signal: AbortSignal, range?: { offset: number; limit: number }): Promise<ArrayBuffer> {
    const query = range ? `?offset=${range.offset}&limit=${range.limit}` : "";
    return (await this.request(url + query, { signal })).arrayBuffer();
  }

  async picture(url: string, signal: AbortSignal): Promise<Blob> {
    return (await this.request(url, { signal })).blob();
  }

  private async json(path: string, init: RequestInit = {}): Promise<unknown> {
    return (await this.request(path, init)).json();
  }

  private async request(path: string, init: RequestInit): Promise<Response> {
    // The token must never leave this origin, whatever address a log names.
    if (!path.startsWith("/api/")) throw new Problem(400, "Not an address of this server", path);
    const headers = new Headers(init.headers);
    headers.set("Authorization", `Bearer ${this.token}`);
    const response = await fetch(path, { ...init, headers, cache: "no-store" }).catch((error: unknown) => {
      throw error instanceof TypeError ? new Unreachable("The server can't be reached.", { cause: error }) : error;
    });
    if (response.ok) return response;
    if (response.status === 401) this.onUnauthorized();
    throw await problemOf(response);
  }
}

async function problemOf(response: Response): Promise<Problem> {
  const text = await response.text();
  if (!(response.headers.get("Content-Type") ?? "").includes("json")) {
    return new Problem(response.status, `The server answered ${response.status}`, text.slice(0, 200));
  }
  const body = JSON.parse(text) as { title?: string; detail?: string };
  return new Problem(response.status, body.title ?? `The server answered ${response.status}`, body.detail ?? "");
}

function bodyOf(response: Response): ReadableStream<Uint8Array> {
  if (response.body === null) throw new Problem(502, "Not a Drafthand server", "The answer has no body.");
  return response.body;
}
