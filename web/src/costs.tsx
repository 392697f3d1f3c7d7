import { useMemo, useState } from "react";
import { useCall } from "./api";
import { short } from "./jobs";
import { ago, cost, count, Empty, kindOf, plural, Problem, took, visible, words } from "./text";
import type { Job, Known, Share, Stats, Usage } from "./types";

interface Sum { name: string; jobs: number; good: number; tokens: number; cost: number; time: number }

const spent = (j: Job) => (j.output?.cost_usd ?? 0) + (j.output?.below?.cost_usd ?? 0);
const tokens = (j: Job) => [j.output?.usage, j.output?.below?.usage].reduce((n, u?: Usage) => n + (u?.in ?? 0) + (u?.out ?? 0), 0);

function sums(jobs: Job[], by: (j: Job) => string): Sum[] {
  const all = new Map<string, Sum>();
  for (const j of jobs) {
    const name = by(j) || "none", s = all.get(name) ?? { name, jobs: 0, good: 0, tokens: 0, cost: 0, time: 0 };
    s.jobs++; s.good += kindOf(j.status) === "good" ? 1 : 0; s.tokens += tokens(j); s.cost += spent(j); s.time += j.output?.spent_ns ?? 0;
    all.set(name, s);
  }
  return [...all.values()].sort((a, b) => b.cost - a.cost || b.tokens - a.tokens || b.jobs - a.jobs);
}

export default function Costs() {
  const { data, error } = useCall<Job[]>("jobs/list", { full: true, limit: 1000 }), known = useCall<Known[]>("failures/list", {}), [days, setDays] = useState(30);
  const since = useMemo(() => new Date(Date.now() - days * 864e5).toISOString(), [days]), stats = useCall<Stats>("failures/stats", { since });
  if (!data) return error ? <Problem of={error} /> : <Empty>Loading…</Empty>;
  const jobs = data.filter((j) => Date.now() - Date.parse(j.created) < days * 864e5), ended = jobs.filter((j) => !["running", "queued", "waiting", "interrupted"].includes(j.status));
  const failures = sums(ended.filter((j) => kindOf(j.status) === "bad"), (j) => words(j.status));
  return <>
    <div className="head"><h1>Costs and failures</h1><label className="inline">Days <select value={days} onChange={(e) => setDays(+e.target.value)}>{[1, 7, 30, 365].map((n) => <option key={n}>{n}</option>)}</select></label></div>
    <section className="sums" aria-label="In all"><div><b>{jobs.length}</b><span>jobs</span></div><div><b>{cost(jobs.reduce((n, j) => n + spent(j), 0)) || "$0"}</b><span>cost</span></div><div><b>{count(jobs.reduce((n, j) => n + tokens(j), 0))}</b><span>tokens</span></div>
      <div><b>{ended.length ? Math.round((100 * ended.filter((j) => kindOf(j.status) === "good").length) / ended.length) + " %" : "–"}</b><span>of those that ended are done</span></div></section>
    {data.length === 1000 && <p className="weak">These are the newest 1,000 jobs.</p>}
    <Days jobs={jobs} days={days} />
    <Table title="By agent" of={sums(jobs, (j) => j.agent ?? "")} /><Table title="By model" of={sums(jobs, (j) => short(j.model ?? ""))} />
    {failures.length > 0 && <Table title="How jobs failed" of={failures} plain />}
    <h2>What coordinators did</h2>
    <Problem of={stats.error} />
    {stats.data && stats.data.jobs > 0 && <Coordinated of={stats.data} />}
    <Problem of={known.error} />
    {known.data?.length ? <div className="lines" tabIndex={0} role="group" aria-label="What coordinators did"><table><thead><tr><th scope="col">Problem</th><th scope="col">Decision</th><th scope="col">By</th><th scope="col">Came of it</th><th scope="col">When</th></tr></thead>
      <tbody>{known.data.slice(0, 100).map((f) => <tr key={f.key}><td><b>{visible(f.type)}</b> {visible(f.message)}</td><td>{f.action.decision}</td><td>{visible(f.action.agent ?? f.action.by ?? "")}</td><td>{f.outcome}</td><td>{ago(f.at)}</td></tr>)}</tbody></table></div> : stats.data?.jobs === 0 && <p className="weak">Nothing was coordinated in these days.</p>}
  </>;
}

const percent = (s: Share) => (s.all ? `${s.well} (${Math.round((100 * s.well) / s.all)} %, ${Math.round(100 * s.low)}–${Math.round(100 * s.high)} %)` : "–");
const counts = (m: Record<string, number>) => Object.keys(m).sort().map((k) => `${m[k]} ${words(k)}`).join(", ");

// Coordinated has the numbers of adroit fix stats. A share comes with the interval that it lies in with a probability of 95 %.
function Coordinated({ of: s }: { of: Stats }) {
  const table = (title: string, well: string, list: Share[] | null) => list?.length ? <div className="lines" tabIndex={0} role="group" aria-label={title}><table><thead><tr><th scope="col">{title}</th><th scope="col" className="num">All</th><th scope="col" className="num">{well}</th></tr></thead><tbody>{list.map((x) => <tr key={x.name}><td>{visible(x.name ?? "")}</td><td className="num">{x.all}</td><td className="num">{percent(x)}</td></tr>)}</tbody></table></div> : null;
  return <>
    <section className="sums" aria-label="Failures that were coordinated"><div><b>{s.jobs}</b><span>failures</span></div><div><b>{percent(s.fixed)}</b><span>fixed</span></div><div><b>{percent(s.escalated)}</b><span>came to need a person</span></div>
      {s.median_ns > 0 && <div><b>{took(s.median_ns / 1e6)}</b><span>median time to a fix</span></div>}<div><b>{count(s.tokens)}</b><span>tokens</span></div>{s.cost_usd > 0 && <div><b>{cost(s.cost_usd)}</b><span>cost</span></div>}</section>
    <p className="weak">Ended as: {counts(s.status)}. Decisions: {counts(s.decisions)}, made by {counts(s.deciders)}.</p>
    <div className="pair wide">{table("Problem", "Fixed", s.problems)}{table("Agent", "Helped", s.agents)}</div>
  </>;
}

// Days is the cost of each day, or its jobs where none has a price.
function Days({ jobs, days }: { jobs: Job[]; days: number }) {
  const all = sums(jobs, (j) => new Date(j.created).toLocaleDateString("sv")), n = Math.min(days, 30), paid = all.some((s) => s.cost > 0);
  const list = Array.from({ length: n }, (_, i) => { const d = new Date(Date.now() - (n - 1 - i) * 864e5).toLocaleDateString("sv"); return all.find((s) => s.name === d) ?? { name: d, cost: 0, jobs: 0 }; });
  const of = (s: { cost: number; jobs: number }) => (paid ? s.cost : s.jobs), most = Math.max(...list.map(of), 1e-9);
  return <figure className="days"><figcaption>{paid ? "Cost" : "Jobs"} by day, at most {paid ? cost(most) : plural(Math.round(most), "job")}</figcaption>
    <div role="img" aria-label={list.filter((s) => of(s) > 0).map((s) => `${s.name}: ${paid ? cost(s.cost) : plural(s.jobs, "job")}`).join(", ") || "nothing"}>{list.map((s) => <span key={s.name} title={`${s.name}: ${paid ? cost(s.cost) || "$0" : plural(s.jobs, "job")}`}><i style={{ height: `${(100 * of(s)) / most}%` }} /></span>)}</div></figure>;
}

function Table({ title, of, plain }: { title: string; of: Sum[]; plain?: boolean }) {
  return <><h2>{title}</h2><div className="lines" tabIndex={0} role="group" aria-label={title}><table><thead><tr><th scope="col">{plain ? "Status" : title.replace("By ", "").replace(/^./, (c) => c.toUpperCase())}</th><th scope="col" className="num">Jobs</th>{!plain && <th scope="col" className="num">Done</th>}<th scope="col" className="num">Tokens</th><th scope="col" className="num">Cost</th></tr></thead>
    <tbody>{of.slice(0, 30).map((s) => <tr key={s.name}><td>{visible(s.name)}</td><td className="num">{s.jobs}</td>{!plain && <td className="num">{s.good}</td>}<td className="num">{count(s.tokens)}</td><td className="num">{cost(s.cost) || "–"}</td></tr>)}</tbody></table></div></>;
}
