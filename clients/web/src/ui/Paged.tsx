import type { ComponentChildren } from "preact";
import { useLayoutEffect, useRef, useState } from "preact/hooks";
import { whole } from "../words";

export const PAGE_ROWS = 200;
const TALL_ROWS = 15;

interface Props {
  /** How many rows there are in all. */
  count: number;
  label: string;
  /** Draws the rows from one place up to, but without, another. */
  table: (from: number, to: number) => ComponentChildren;
}

/** A table in a box of its own, by pages where it is long: a table of thousands of rows takes seconds to draw. */
export function Paged({ count, label, table }: Props) {
  const [from, setFrom] = useState(0);
  const box = useRef<HTMLDivElement>(null);
  const to = Math.min(count, from + PAGE_ROWS);
  const turn = (rows: number) => {
    setFrom((old) => (old + rows >= 0 && old + rows < count ? old + rows : old)); // keys may be faster than the screen
  };
  useLayoutEffect(() => {
    if (box.current) box.current.scrollTop = 0;
  }, [from]);
  return (
    <>
      <div class={count > TALL_ROWS ? "wide tall" : "wide"} role="group" aria-label={label} tabIndex={0} ref={box}>
        {table(from, to)}
      </div>
      {count > PAGE_ROWS && (
        <div class="pages" role="group" aria-label={`Pages of ${label.toLowerCase()}`}>
          <Turn name="Previous" able={from > 0} onClick={() => turn(-PAGE_ROWS)} />
          <span data-testid="page">
            {whole(from + 1)} to {whole(to)} of {whole(count)}
          </span>
          <Turn name="Next" able={to < count} onClick={() => turn(PAGE_ROWS)} />
        </div>
      )}
    </>
  );
}

/** Not `disabled` at the end: the button would lose the keyboard's focus under the reader's finger. */
function Turn({ name, able, onClick }: { name: string; able: boolean; onClick: () => void }) {
  return (
    <button type="button" class="button small" aria-disabled={!able} onClick={onClick}>
      {name}
    </button>
  );
}
