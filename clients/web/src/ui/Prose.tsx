import { Component, type ComponentChildren, h } from "preact";
import { GrowingMarkdown, type Node } from "../markdown";
import { Code } from "./Code";

/** Markdown from the model, as elements. Pictures become links: nothing is fetched because a text says so. */
export class Prose extends Component<{ text: string }> {
  private readonly markdown = new GrowingMarkdown();

  override shouldComponentUpdate(next: { text: string }): boolean {
    return next.text !== this.props.text;
  }

  render({ text }: { text: string }) {
    const blocks = this.markdown.update(text);
    return (
      <div class="prose" data-testid="message">
        {blocks.map((node, index) => (
          <Block key={index} node={node} />
        ))}
      </div>
    );
  }
}

/** A settled block keeps its object, so it is drawn once. */
class Block extends Component<{ node: Node }> {
  override shouldComponentUpdate(next: { node: Node }): boolean {
    return next.node !== this.props.node;
  }

  render({ node }: { node: Node }) {
    return draw(node);
  }
}

function drawAll(nodes: readonly Node[]): ComponentChildren {
  return nodes.map((node) => draw(node));
}

type PlainTag = "blockquote" | "ul" | "em" | "li" | "s" | "strong" | "tbody" | "thead" | "tr";

const TAGS: Record<string, PlainTag> = {
  blockquote_open: "blockquote",
  bullet_list_open: "ul",
  em_open: "em",
  list_item_open: "li",
  s_open: "s",
  strong_open: "strong",
  tbody_open: "tbody",
  thead_open: "thead",
  tr_open: "tr",
};

function draw({ token, children }: Node): ComponentChildren {
  const tag = TAGS[token.type];
  if (tag) return h(tag, null, drawAll(children));
  switch (token.type) {
    case "paragraph_open":
      return token.hidden ? drawAll(children) : <p>{drawAll(children)}</p>;
    case "inline":
      return drawAll(children);
    case "heading_open":
      return heading(token.tag, drawAll(children));
    case "ordered_list_open":
      return <ol start={Number(token.attrGet("start") ?? 1)}>{drawAll(children)}</ol>;
    case "hr":
      return <hr />;
    case "fence":
    case "code_block":
      return <Code code={token.content} python={/^py/.test(token.info)} label="Code" />;
    case "code_inline":
      return <code>{token.content}</code>;
    case "table_open":
      return (
        <div class="wide" role="group" aria-label="Table" tabIndex={0}>
          <table>{drawAll(children)}</table>
        </div>
      );
    case "th_open":
      return <th class={alignment(String(token.attrGet("style")))}>{drawAll(children)}</th>;
    case "td_open":
      return <td class={alignment(String(token.attrGet("style")))}>{drawAll(children)}</td>;
    case "softbreak":
      return "\n";
    case "hardbreak":
      return <br />;
    case "link_open":
      return <Link href={String(token.attrGet("href"))}>{drawAll(children)}</Link>;
    case "image":
      return <Link href={String(token.attrGet("src"))}>{token.content || "picture"}</Link>;
    default:
      return token.content;
  }
}

/** The page has its own h1 and h2. */
function heading(tag: string, children: ComponentChildren) {
  if (tag === "h1") return <h3>{children}</h3>;
  if (tag === "h2") return <h4>{children}</h4>;
  return <h5>{children}</h5>;
}

function alignment(style: string): string | undefined {
  return /right|center/.exec(style)?.[0];
}

function Link({ href, children }: { href: string; children: ComponentChildren }) {
  if (!/^https?:/i.test(href)) return <>{children}</>;
  return (
    <a href={href} rel="noreferrer noopener" target="_blank">
      {children}
    </a>
  );
}
