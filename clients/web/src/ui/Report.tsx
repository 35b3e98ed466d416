import { useEffect, useState } from "preact/hooks";
import { useDesk } from "../desk";
import { fetchReport } from "../report";
import type { Report, ReportElement } from "../wire";
import { counted, total } from "../words";
import { Paged } from "./Paged";
import { ElementTable, GroupTable } from "./ReportTables";

const FEW = 15; // up to so many elements are shown one by one at once

/** What really changed, read back from the document: element by element, or first by group when there are many. */
export function ReportView({ report, url }: { report: Report; url: string | null }) {
  const { counts, elements, groups, unresolved } = report;
  if (total(counts) === 0) return null;
  const many = total(counts) > FEW;
  return (
    <div class="report" role="group" aria-label="What changed" data-testid="report">
      {many && groups.length > 0 && (
        <Paged
          count={groups.length}
          label="Changes by group"
          table={(from, to) => <GroupTable groups={groups} from={from} to={to} />}
        />
      )}
      {many && <AllElements report={report} url={url} />}
      {!many && elements.length > 0 && <Elements elements={elements} />}
      {unresolved > 0 && <p class="fine">{counted(unresolved, "changed element")} could not be named.</p>}
    </div>
  );
}

function Elements({ elements }: { elements: readonly ReportElement[] }) {
  return (
    <Paged
      count={elements.length}
      label="Changed elements"
      table={(from, to) => <ElementTable elements={elements} from={from} to={to} />}
    />
  );
}

/** Every element, on demand. */
function AllElements({ report, url }: { report: Report; url: string | null }) {
  const { api } = useDesk();
  const count = total(report.counts) - report.unresolved;
  const [open, setOpen] = useState(false);
  const [all, setAll] = useState(report.elements.length >= count ? report.elements : null);
  const [problem, setProblem] = useState<string | null>(null);
  useEffect(() => {
    if (!open || all !== null || url === null) return;
    const leaving = new AbortController();
    fetchReport(api, url, leaving.signal).then(
      (whole) => setAll(whole.elements),
      (error: unknown) => {
        if (!leaving.signal.aborted) setProblem(String(error));
      },
    );
    return () => leaving.abort();
  }, [api, url, open, all]);
  if (all === null && url === null) return null;
  const toggle = () => {
    setProblem(null);
    setOpen(!open);
  };
  return (
    <>
      <p>
        <button type="button" class="button small" aria-expanded={open} data-testid="show-elements" onClick={toggle}>
          {open ? "Hide the elements" : `Show all ${counted(count, "element")}`}
        </button>
      </p>
      {open && all !== null && <Elements elements={all} />}
      {open && all === null && problem === null && <p class="fine">Loading the elements…</p>}
      {problem && <p role="alert">The elements can't be loaded. {problem}</p>}
    </>
  );
}
