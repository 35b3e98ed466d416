/** What there is to choose from: models, hosts, sessions; and what is chosen for the next message. */

import { computed, signal } from "@preact/signals";
import type { Api } from "./api";
import type { Host, Mode, Model, Session } from "./wire";

const REFRESH_MS = 10_000;

export class Catalog {
  readonly models = signal<readonly Model[]>([]);
  readonly hosts = signal<readonly Host[]>([]);
  readonly sessions = signal<readonly Session[]>([]);
  readonly modelId = signal<string | null>(null);
  readonly hostId = signal<string | null>(null);
  readonly mode = signal<Mode>("auto");
  readonly loaded = signal(false);
  /** Whether the last attempt to reach the server failed. */
  readonly unreachable = signal(false);

  readonly model = computed(() => {
    const usable = this.models.value.filter((model) => model.available);
    return usable.find((model) => model.id === this.modelId.value) ?? usable.find((model) => model.default) ?? usable[0] ?? null;
  });
  readonly host = computed(() => {
    const hosts = this.hosts.value;
    return hosts.find((host) => host.id === this.hostId.value) ?? hosts.find((host) => host.online) ?? hosts[0] ?? null;
  });

  constructor(private readonly api: Api) {}

  /** Keeps the lists fresh for as long as the signal lasts; a page that nobody looks at asks for nothing. */
  async keepFresh(signal: AbortSignal): Promise<void> {
    const fresh = () => (document.hidden ? undefined : this.refresh());
    document.addEventListener("visibilitychange", () => void fresh(), { signal });
    const timer = setInterval(() => void fresh(), REFRESH_MS);
    signal.addEventListener("abort", () => clearInterval(timer));
    await this.refresh();
  }

  async refresh(): Promise<void> {
    try {
      const [models, hosts, sessions] = await Promise.all([this.api.models(), this.api.hosts(), this.api.sessions()]);
      this.models.value = models;
      this.hosts.value = hosts;
      this.sessions.value = sessions.toSorted((a, b) => b.updated_at - a.updated_at);
      this.loaded.value = true;
      this.unreachable.value = false;
    } catch (error) {
      this.unreachable.value = true; // the page says so and asks again at the next tick
      console.warn(error);
    }
  }

  /** A conversation was opened: go on with what it used. */
  adopt(session: Session): void {
    this.modelId.value = session.model;
    this.hostId.value = session.host_id;
    this.mode.value = session.mode;
  }
}
