import { useMemo, useState } from "react";
import { listed, to, useMay, useWorld } from "./api";
import { ago, called, cost, count, Empty, kindOf, plural, Problem, sentence, Status, took, visible } from "./text";
import type { Detail, Job, Question } from "./types";

const filters = [["all", "All"], ["run", "Running"], ["wait", "Waiting"], ["good", "Done"], ["bad", "Failed"], ["calm", "Other"]] as const;

export function Jobs() {
  const { jobs, details, doing, loaded, error, cut, more } = useWorld(), [filter, setFilter] = useState<string>("all"), [text, setText] = useState(""), [most, setMost] = useState(50), may = useMay();
  const found = useMemo(() => {
    const all = text.toLowerCase().split(/\s+/).filter(Boolean);
    return jobs.filter((j) => all.every((w) => [j.id, j.title, j.agent, j.model, j.dir, j.status, j.reason].join(" ").toLowerCase().includes(w)));
  }, [jobs, text]);
  const list = found.filter((j) => filter === "all" || kindOf(j.status) === filter);
  return <>
    <div className="head"><h1>Jobs</h1>{may("run") && <a className="button primary" href={to("start")}>Start a job</a>}</div>
    <div className="filters">
      <div role="group" aria-label="Filter by status" className="chips">{filters.map(([id, name]) => {
        const n = id === "all" ? found.length : found.filter((j) => kindOf(j.status) === id).length;
        return <button key={id} aria-pressed={filter === id} onClick={() => setFilter(id)}>{name} <span>{n}</span></button>;
      })}</div>
      <input type="search" aria-label="Search jobs" placeholder="Title, agent, model, directory…" value={text} onChange={(e) => setText(e.target.value)} />
    </div>
    <Problem of={error ? { message: error } : undefined} />
    {list.length > 0 && <ul className="jobs">{list.slice(0, most).map((j) => <Row key={j.id} job={j} detail={details.get(j.id)} doing={doing.get(j.id)} />)}</ul>}
    {cut && <p className="weak">These are the newest {listed}, and {more ? `the newest ${listed}` : "all"} that run or wait.</p>}
    {list.length > most && <button onClick={() => setMost(most + 50)}>Show {Math.min(50, list.length - most)} more of {list.length}</button>}
    {loaded && list.length === 0 && <Empty>{jobs.length ? <p>No job is like that. <button onClick={() => { setFilter("all"); setText(""); }}>Show all</button></p> : <p>There are no jobs yet. {may("run") && <a href={to("start")}>Start the first one.</a>}</p>}</Empty>}
  </>;
}

function Row({ job: j, detail: d, doing }: { job: Job; detail?: Detail; doing?: string }) {
  const total = d?.usage.total, tokens = (total?.usage?.in ?? 0) + (total?.usage?.out ?? 0);
  const spent = cost(d?.usage.cost_usd ?? total?.cost_usd);
  return <li className={kindOf(j.status)}>
    <Status of={j.status} />
    <div className="what">
      <a href={to("jobs", j.id)}>{called(d?.job ?? j)}</a>
      <p className="why">{d?.questions?.length && j.status === "waiting" ? d.questions.map(asks).join("; ") : visible(because(j, doing))}</p>
    </div>
    <div className="meta">
      <span>{j.agent}</span>{j.model && j.model !== "none" && <span title={j.model}>{short(j.model)}</span>}
      {tokens > 0 && <span>{count(tokens)} tokens</span>}{spent && <span>{spent}</span>}
      <span>{took(Date.parse(j.finished ?? (j.status === "running" ? new Date().toISOString() : j.updated)) - Date.parse(j.started ?? j.created))}</span>
      <span title={new Date(j.created).toLocaleString()}>{ago(j.created)}</span>
    </div>
  </li>;
}

const asks = (q: Question) => visible(q.about?.tool ? `asks whether it may run ${q.about.tool}` : q.about?.question ? `asks: ${q.about.question}` : `waits for ${q.signals.join(" or ")}`);

export const short = (model: string) => model.startsWith("script:") ? "script:" + model.split("/").pop() : model;

// because is why a job stands as it does.
export const because = (j: Job, doing?: string) => sentence(why(j, doing));
function why(j: Job, doing?: string): string {
  if (j.status === "running") return doing ?? "";
  if (j.status === "queued") return j.queue ? `waits for a place, ${plural(j.queue - 1, "job")} before it` : "waits to be started";
  if (j.status === "interrupted" && j.position) return `after ${plural(j.position.turns, "answer")} and ${plural(j.position.calls, "call")}${j.position.tool ? ", in " + j.position.tool : ""}. ${j.reason ?? ""}`;
  return j.reason ?? "";
}
