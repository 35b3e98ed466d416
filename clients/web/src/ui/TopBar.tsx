import type { Signal } from "@preact/signals";
import { HostPill } from "./HostPill";
import { Icon } from "./Icon";
import { ModelPicker } from "./ModelPicker";

export function TopBar({ railOpen }: { railOpen: Signal<boolean> }) {
  return (
    <header class="bar">
      <button
        type="button"
        class="button bare rail-button"
        aria-label="Sessions"
        aria-expanded={railOpen.value}
        aria-controls="rail"
        onClick={() => {
          railOpen.value = !railOpen.value;
        }}
      >
        <Icon name="menu" />
      </button>
      <h1 class="brand">Drafthand</h1>
      <HostPill />
      <ModelPicker />
    </header>
  );
}
