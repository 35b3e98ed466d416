import { Component, type ComponentChildren } from "preact";

/** A part that can't be drawn says so in its place; the rest of the page stands. */
export class Guard extends Component<{ children: ComponentChildren }, { problem: string | null }> {
  override state = { problem: null };

  override componentDidCatch(error: unknown): void {
    console.error(error);
    this.setState({ problem: String(error) });
  }

  render({ children }: { children: ComponentChildren }, { problem }: { problem: string | null }) {
    if (problem === null) return children;
    return (
      <p class="note" data-testid="undrawable">
        This part can't be shown. {problem}
      </p>
    );
  }
}
