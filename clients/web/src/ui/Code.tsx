import { Component } from "preact";
import { GrowingCode, type Line } from "../highlight";

const BLOCK = 50; // lines: a full block is drawn once, however long the script grows
const NEAR_END = 24; // pixels

interface Props {
  code: string;
  label: string;
  python: boolean;
  /** More will come at the end. */
  growing?: boolean;
  /** Number of the first line; without it lines have no numbers. */
  firstLine?: number;
  /** Marked as the line where it went wrong. */
  errorLine?: number | null;
}

/** Code with coloured lines. While it grows, its end stays in sight unless the reader scrolls away. */
export class Code extends Component<Props> {
  private readonly content = new GrowingCode(this.props.python);
  private box: HTMLElement | null = null;
  private atEnd = true;

  override shouldComponentUpdate({ code, growing, errorLine }: Props): boolean {
    return code !== this.props.code || growing !== this.props.growing || errorLine !== this.props.errorLine;
  }

  override componentDidMount(): void {
    this.componentDidUpdate(this.props);
  }

  override componentDidUpdate(before: Props): void {
    const { box, atEnd } = this;
    if (box === null) return;
    const wrong = box.querySelector<HTMLElement>(".line.wrong");
    if (wrong) box.scrollTop = wrong.offsetTop - box.clientHeight / 2;
    else if ((this.props.growing || before.growing) && atEnd) box.scrollTop = box.scrollHeight;
  }

  render({ code, label, growing = false, firstLine, errorLine }: Props) {
    const lines = this.content.update(code, growing);
    const starts = Array.from({ length: Math.ceil(lines.length / BLOCK) }, (_, index) => index * BLOCK);
    return (
      <div
        class={firstLine === undefined ? "code" : "code numbered"}
        role="group"
        aria-label={label}
        tabIndex={0}
        ref={(element) => {
          this.box = element;
        }}
        onScroll={({ currentTarget: box }) => {
          this.atEnd = box.scrollHeight - box.scrollTop - box.clientHeight < NEAR_END;
        }}
      >
        {starts.map((from) => (
          <Block
            key={from}
            lines={lines.slice(from, from + BLOCK)}
            first={(firstLine ?? 1) + from}
            errorLine={errorLine ?? null}
          />
        ))}
      </div>
    );
  }
}

interface BlockProps {
  lines: readonly Line[];
  first: number;
  errorLine: number | null;
}

class Block extends Component<BlockProps> {
  override shouldComponentUpdate({ lines, first, errorLine }: BlockProps): boolean {
    const old = this.props;
    const same = lines.length === old.lines.length && lines[0] === old.lines[0] && lines.at(-1) === old.lines.at(-1);
    return !same || first !== old.first || errorLine !== old.errorLine;
  }

  render({ lines, first, errorLine }: BlockProps) {
    return (
      <pre style={{ counterReset: `line ${first - 1}` }}>
        {lines.map((spans, index) => [
          <span key={index} class={first + index === errorLine ? "line wrong" : "line"}>
            {spans.map(({ scope, text }) => (scope ? <span class={`c-${scope}`}>{text}</span> : text))}
          </span>,
          "\n",
        ])}
      </pre>
    );
  }
}
