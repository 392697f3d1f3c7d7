import { go, to, useCall, useWorld } from "./api";
import { short } from "./jobs";
import { cost, count, DiffView, Empty, Problem, sentence, Status, took, visible } from "./text";
import type { Detail, Diff } from "./types";

export default function Compare({ a = "", b = "" }: { a?: string; b?: string }) {
  const { jobs } = useWorld();
  const pick = (label: string, now: string, set: (id: string) => void) => <label>{label}<select value={now} onChange={(e) => set(e.target.value)}><option value="">choose a job</option>{jobs.map((j) => <option key={j.id} value={j.id}>{visible(j.title || j.agent || "")} ({j.status}, {j.id})</option>)}</select></label>;
  return <>
    <h1>Compare</h1>
    <div className="pair">{pick("One job", a, (x) => go("compare", x, b))}{pick("Another", b, (x) => go("compare", a, x))}</div>
    {a && b ? <Both a={a} b={b} /> : <Empty><p>Choose two jobs: what they took, what proved them, and what they changed stand side by side.</p></Empty>}
  </>;
}

function Both({ a, b }: { a: string; b: string }) {
  const x = useCall<Detail>("jobs/show", { job: a }), y = useCall<Detail>("jobs/show", { job: b }), dx = useCall<Diff>("jobs/diff", { job: a, options: {} }), dy = useCall<Diff>("jobs/diff", { job: b, options: {} });
  if (!x.data || !y.data) return <Problem of={x.error ?? y.error} />;
  const sides = [x.data, y.data], diffs = [dx, dy];
  const tokens = (d: Detail) => (d.usage.total.usage?.in ?? 0) + (d.usage.total.usage?.out ?? 0), time = (d: Detail) => Date.parse(d.job.finished ?? d.job.updated) - Date.parse(d.job.started ?? d.job.created);
  const rows: [string, (d: Detail) => React.ReactNode, ((d: Detail) => number)?][] = [
    ["Status", (d) => <Status of={d.job.status} />], ["Why", (d) => visible(sentence(d.job.reason ?? ""))], ["Agent", (d) => d.job.agent], ["Model", (d) => short(d.job.model ?? "")],
    ["Time", (d) => took(time(d)), time], ["Answers", (d) => d.usage.total.turns ?? 0, (d) => d.usage.total.turns ?? 0], ["Calls", (d) => d.usage.total.calls ?? 0, (d) => d.usage.total.calls ?? 0],
    ["Tokens", (d) => count(tokens(d)), tokens], ["Cost", (d) => cost(d.usage.cost_usd ?? d.usage.total.cost_usd) || "none known", (d) => d.usage.cost_usd ?? d.usage.total.cost_usd ?? 0],
    ["Holds", (d) => visible(d.final?.met?.join(", ") ?? "")], ["Does not hold", (d) => visible(d.final?.unmet?.join(", ") ?? "")],
  ];
  return <>
    <div className="lines" tabIndex={0} role="group" aria-label="Figures"><table className="compared"><thead><tr><td />{sides.map((d) => <th key={d.job.id} scope="col"><a href={to("jobs", d.job.id)}>{visible(d.job.title || d.job.id)}</a></th>)}</tr></thead>
      <tbody>{rows.map(([name, of, n]) => <tr key={name}><th scope="row">{name}</th>{sides.map((d, i) => <td key={i} className={n && n(d) > 0 && n(d) < n(sides[1 - i]) ? "less" : ""}>{of(d)}</td>)}</tr>)}</tbody></table></div>
    <div className="pair wide">{diffs.map((d, i) => <section key={i} aria-label={"Changes of " + visible(sides[i].job.title || sides[i].job.id)}><h2>{visible(sides[i].job.title || sides[i].job.id)}</h2><Problem of={d.error} />{d.data && (d.data.diff ? <DiffView text={d.data.diff} /> : <p className="weak">No file differs.</p>)}</section>)}</div>
  </>;
}
