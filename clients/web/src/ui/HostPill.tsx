import { now } from "../clock";
import { useDesk } from "../desk";
import type { Host, HostFacts } from "../wire";
import { duration, hostName } from "../words";
import { Icon } from "./Icon";

/** Which application and document will be worked on, and whether it is there. */
export function HostPill() {
  const { catalog, talk } = useDesk();
  const listed = catalog.host.value;
  if (listed === null) {
    return (
      <p class="pill quiet" data-testid="host-pill" data-state="none">
        <Icon name="ring" />
        <span>{catalog.loaded.value ? "No host connected" : "Looking for a host"}</span>
      </p>
    );
  }
  const host = freshest(listed, talk.active.value?.value.host ?? null);
  const state = !host.online ? "offline" : host.busy_since === null ? "online" : "busy";
  const { hosts, hostId } = catalog;
  return (
    <p class={`pill ${state}`} data-testid="host-pill" data-state={state}>
      <Icon name={state === "offline" ? "ring" : state === "busy" ? "clock" : "dot"} />
      <span class="pill-state">
        {state}
        {host.busy_since !== null && host.online && ` ${duration(now.value - host.busy_since)}`}
      </span>
      {hosts.value.length > 1 ? (
        <select
          aria-label="Host"
          value={host.id}
          onChange={(event) => {
            hostId.value = event.currentTarget.value;
          }}
        >
          {hosts.value.map((each) => (
            <option key={each.id} value={each.id}>
              {nameOf(each)}
            </option>
          ))}
        </select>
      ) : (
        <span class="pill-name">{nameOf(host)}</span>
      )}
    </p>
  );
}

function nameOf(host: Host): string {
  return host.document ? `${hostName(host.application)} · ${host.document.title}` : "A host";
}

/** The log of the active run knows of its host sooner than the list does. */
function freshest(host: Host, facts: HostFacts | null): Host {
  if (facts === null || facts.host_id !== host.id) return host;
  return {
    ...host,
    online: facts.online && facts.state !== "gone",
    busy_since: facts.state === "working" ? facts.busy_since : null,
    document: facts.document ?? host.document,
  };
}
