/** The model's reasoning: there for who wants it, never in the way. */
export function Thinking({ text, growing }: { text: string; growing: boolean }) {
  return (
    <details class="thinking" data-testid="thinking">
      <summary>{growing ? "Thinking…" : "Thought about it"}</summary>
      <p class="thinking-text">{text}</p>
    </details>
  );
}
