import type { Change, PropertyChange, Report, ReportElement } from "../wire";
import { CHANGE_WORDS, counted, total, valueText, whole } from "../words";
import { Icon } from "./Icon";

/** What really changed, read back from the document: element by element, or by group when there are many. */
export function ReportView({ report }: { report: Report }) {
  const { counts, elements, groups, unresolved } = report;
  if (total(counts) === 0) return null;
  return (
    <div class="report" role="group" aria-label="What changed" data-testid="report">
      {total(counts) > elements.length && groups.length > 0 && <Groups report={report} />}
      {elements.length > 0 && <Elements elements={elements} />}
      {unresolved > 0 && <p class="fine">{counted(unresolved, "changed element")} could not be named.</p>}
    </div>
  );
}

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

/** Columns that hold nothing are left out; on a narrow screen each row becomes a small card (see report.css). */
function Elements({ elements }: { elements: readonly ReportElement[] }) {
  const columns = COLUMNS.filter((column) => elements.some((element) => column.text(element)));
  const withChanges = elements.some((element) => element.changes.length > 0);
  return (
    <div class="wide" role="group" aria-label="Changed elements" tabIndex={0}>
      <table class="cards" role="table">
        <thead role="rowgroup">
          <tr role="row">
            <th role="columnheader">Change</th>
            {columns.map((column) => (
              <th role="columnheader" key={column.head}>
                {column.head}
              </th>
            ))}
            {withChanges && <th role="columnheader">Before → after</th>}
          </tr>
        </thead>
        <tbody role="rowgroup">
          {elements.map((element) => (
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
                <td role="cell">
                  {element.changes.map((change) => (
                    <PropertyLine key={change.property} change={change} />
                  ))}
                </td>
              )}
            </tr>
          ))}
        </tbody>
      </table>
    </div>
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

function PropertyLine({ change }: { change: PropertyChange }) {
  return (
    <span class="property">
      <span class="property-name">{change.property}</span> <del>{valueText(change.before)}</del>{" "}
      <span aria-hidden="true">→</span> <ins>{valueText(change.after)}</ins>
    </span>
  );
}

function Groups({ report }: { report: Report }) {
  return (
    <div class="wide" role="group" aria-label="Changes by group" tabIndex={0}>
      <table class="cards" role="table">
        <thead role="rowgroup">
          <tr role="row">
            <th role="columnheader">Change</th>
            <th role="columnheader">Category</th>
            <th role="columnheader" class="right">
              Count
            </th>
            <th role="columnheader">For example</th>
          </tr>
        </thead>
        <tbody role="rowgroup">
          {report.groups.map((group) => (
            <tr role="row" key={`${group.change} ${group.category}`} data-testid="report-group">
              <td role="cell" class="cell-change">
                <ChangeWord change={group.change} />
              </td>
              <td role="cell">{group.category}</td>
              <td role="cell" class="right cell-count">
                {whole(group.count)}
              </td>
              <td role="cell">{group.example && (group.example.name || `#${group.example.id}`)}</td>
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}
