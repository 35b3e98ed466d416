import { Component, type ComponentChildren } from "preact";
import type { Change, PropertyChange, ReportElement, ReportGroup } from "../wire";
import { CHANGE_WORDS, valueText, whole } from "../words";
import { Icon } from "./Icon";

interface Column {
  readonly head: string;
  readonly text: (element: ReportElement) => string;
}

const COLUMNS: readonly Column[] = [
  { head: "Category", text: (element) => element.category },
  { head: "Name", text: (element) => element.name || `#${element.id}` },
  { head: "Tag", text: (element) => element.tag ?? "" },
  { head: "Level", text: (element) => element.level ?? "" },
];

interface ElementsProps {
  elements: readonly ReportElement[];
  from: number;
  to: number;
}

/** Columns that hold nothing are left out. Not drawn again while the rest of the run goes on. */
export class ElementTable extends Component<ElementsProps> {
  override shouldComponentUpdate({ elements, from, to }: ElementsProps): boolean {
    const old = this.props;
    return elements !== old.elements || from !== old.from || to !== old.to;
  }

  render({ elements, from, to }: ElementsProps) {
    const columns = COLUMNS.filter((column) => elements.some((element) => column.text(element)));
    const withChanges = elements.some((element) => element.changes.length > 0);
    const heads = ["Change", ...columns.map((column) => column.head), ...(withChanges ? ["Before → after"] : [])];
    return (
      <Table heads={heads}>
        {elements.slice(from, to).map((element) => (
          <tr role="row" key={`${element.change} ${element.id}`} data-testid="report-row">
            <td role="cell" class="cell-change">
              <ChangeWord change={element.change} />
            </td>
            {columns.map((column) => (
              <td role="cell" key={column.head} class={`cell-${column.head.toLowerCase()}`}>
                {column.text(element)}
              </td>
            ))}
            {withChanges && (
              <td role="cell" class="cell-block">
                <PropertyLines changes={element.changes} />
              </td>
            )}
          </tr>
        ))}
      </Table>
    );
  }
}

interface GroupsProps {
  groups: readonly ReportGroup[];
  from: number;
  to: number;
}

/** Elements of one category that changed in the same properties, as one row. */
export class GroupTable extends Component<GroupsProps> {
  override shouldComponentUpdate({ groups, from, to }: GroupsProps): boolean {
    const old = this.props;
    return groups !== old.groups || from !== old.from || to !== old.to;
  }

  render({ groups, from, to }: GroupsProps) {
    return (
      <Table heads={["Change", "Category", "Count", "What changed", "For example"]}>
        {groups.slice(from, to).map((group, index) => (
          <tr role="row" key={from + index} data-testid="report-group">
            <td role="cell" class="cell-change">
              <ChangeWord change={group.change} />
            </td>
            <td role="cell">{group.category}</td>
            <td role="cell" class="cell-count">
              {whole(group.count)}
            </td>
            <td role="cell" class="cell-block">
              <PropertyLines changes={group.changes} />
            </td>
            <td role="cell" class="cell-block cell-example">
              {group.example && (group.example.name || `#${group.example.id}`)}
            </td>
          </tr>
        ))}
      </Table>
    );
  }
}

/** On a narrow screen each row becomes a small card (see report.css); the roles keep it a table. */
function Table({ heads, children }: { heads: readonly string[]; children: ComponentChildren }) {
  return (
    <table class="cards" role="table">
      <thead role="rowgroup">
        <tr role="row">
          {heads.map((head) => (
            <th role="columnheader" key={head} class={head === "Count" ? "cell-count" : undefined}>
              {head}
            </th>
          ))}
        </tr>
      </thead>
      <tbody role="rowgroup">{children}</tbody>
    </table>
  );
}

function ChangeWord({ change }: { change: Change }) {
  const icon = change === "added" ? "plus" : change === "deleted" ? "minus" : "pencil";
  return (
    <span class={`change ${change}`}>
      <Icon name={icon} />
      {CHANGE_WORDS[change]}
    </span>
  );
}

function PropertyLines({ changes }: { changes: readonly PropertyChange[] }) {
  return changes.map((change) => <PropertyLine key={change.property} change={change} />);
}

/** What can't be told apart before and after, as a shape or the various values of a group, is said once or not at all. */
function PropertyLine({ change: { property, before, after } }: { change: PropertyChange }) {
  return (
    <span class="property">
      <span class="property-name">{property}</span>{" "}
      {before === after ? (
        before !== null && valueText(after)
      ) : (
        <>
          <del>{valueText(before)}</del> <span aria-hidden="true">→</span> <ins>{valueText(after)}</ins>
        </>
      )}
    </span>
  );
}
