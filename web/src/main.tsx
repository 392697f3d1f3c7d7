import { Component, lazy, StrictMode, Suspense, useEffect, useRef, useState, type ReactNode } from "react";
import { createRoot } from "react-dom/client";
import { call, Failure, listed, refresh, start, to, useAccess, useEvents, useLink, useMay, usePlace, useWorld } from "./api";
import { Asked } from "./ask";
import { JobPage } from "./job";
import { Jobs } from "./jobs";
import { ago, called, Empty, plural, Problem, visible, words } from "./text";
import "./page.css";

const Start = lazy(() => import("./start"));
const Talk = lazy(() => import("./talk"));
const Compare = lazy(() => import("./compare"));
const Builder = lazy(() => import("./builder"));
const Costs = lazy(() => import("./costs"));

// The views, and the scope that one is of no use without.
const views = [["inbox", "Inbox"], ["jobs", "Jobs"], ["start", "Start", "run"], ["builder", "Builder"], ["talk", "Talk", "run"], ["compare", "Compare"], ["costs", "Costs"]] as const;

function Page() {
  const place = usePlace(), view = place[0] || "inbox", waiting = useQuestions().length, may = useMay(), access = useAccess(), main = useRef<HTMLElement>(null), first = useRef(true);
  const name = views.find((v) => v[0] === view)?.[1] ?? "Inbox";
  useEffect(() => {
    document.title = (waiting ? `(${waiting}) ` : "") + (place[1] && view === "jobs" ? place[1] : name) + " · adroit";
  }, [waiting, view, place[1]]);
  const before = useRef(0);
  useEffect(() => { // the question that had the focus is gone
    if (waiting < before.current && document.activeElement === document.body) main.current?.focus({ preventScroll: true });
    before.current = waiting;
  }, [waiting]);
  useEffect(() => {
    if (!first.current) { main.current?.focus(); scrollTo(0, 0); }
    first.current = false;
  }, [view, place[1]]);
  return <>
    <a className="skip" href="#main" onClick={(e) => { e.preventDefault(); main.current?.focus(); }}>Skip to the content</a>
    <header className="top">
      <a className="brand" href={to("inbox")}><svg viewBox="0 0 32 32" aria-hidden="true"><rect width="32" height="32" rx="8" /><path d="M9 23 16 8l7 15M12 18h8" /></svg>adroit</a>
      <nav aria-label="Views">{views.filter((v) => !v[2] || may(v[2])).map(([id, label]) => <a key={id} href={to(id)} aria-current={view === id ? "page" : undefined}>{label}{id === "inbox" && waiting > 0 && <span className="badge">{waiting}<span className="hidden"> waiting</span></span>}</a>)}</nav>
      {access && !access.scopes.includes("admin") && <p className="token" title={`This browser has the token ${access.name}: ${access.scopes.join(", ")}${access.roots?.length ? " in " + access.roots.join(", ") : ""}.`}><span className="hidden">This browser has the token </span>{access.name}</p>}
    </header>
    <Stand />
    <main id="main" ref={main} tabIndex={-1} onKeyDown={(e) => { if (e.target === e.currentTarget && e.key === "j") document.querySelector<HTMLElement>("article.ask")?.focus(); }}>
      <Guard key={location.hash}><Suspense fallback={<Empty>Loading…</Empty>}>
        {view === "jobs" ? place[1] ? <JobPage key={place[1]} id={place[1]} /> : <Jobs />
          : view === "start" ? <Start key={place[1]} target={place[1]} from={place[2]} /> : view === "builder" ? <Builder dir={place[1]} name={place[2]} /> : view === "talk" ? <Talk id={place[1]} /> : view === "compare" ? <Compare a={place[1]} b={place[2]} /> : view === "costs" ? <Costs /> : <Inbox />}
      </Suspense></Guard>
    </main>
    <News />
  </>;
}

function useQuestions() {
  const { jobs, details } = useWorld();
  return jobs.filter((j) => j.status === "waiting" || j.status === "running").flatMap((j) => (details.get(j.id)?.questions ?? []).map((q) => ({ job: j, q })))
    .sort((a, b) => (a.q.asked ?? "").localeCompare(b.q.asked ?? ""));
}

// Cut are the jobs that were interrupted in the last day, as by the end of a server: they go on when somebody says so.
function Cut() {
  const { jobs } = useWorld(), may = useMay(), [busy, setBusy] = useState(false), [problems, setProblems] = useState<Failure[]>([]);
  const cut = jobs.filter((j) => j.status === "interrupted" && Date.now() - Date.parse(j.updated) < 864e5);
  if (!cut.length && !problems.length) return null;
  return <section className="cut" aria-label="Interrupted jobs">
    {cut.length > 0 && <><h2>{cut.length === 1 ? "One job was interrupted" : `${cut.length} jobs were interrupted`}</h2>
      <ul>{cut.slice(0, 10).map((j) => <li key={j.id}><a href={to("jobs", j.id)}>{called(j)}</a> <small>{ago(j.updated)}</small></li>)}</ul></>}
    {problems.map((p, i) => <Problem key={i} of={p} />)}
    {may("run") && cut.length > 0 && <button disabled={busy} onClick={async () => {
      setBusy(true);
      const failed: Failure[] = [];
      for (const j of cut) await call("jobs/start", { job: j.id, options: { live: true } }).catch((e: Failure) => { failed.push(e); });
      setProblems(failed);
      setBusy(false);
      void refresh();
    }}>{cut.length === 1 ? "Go on with it" : "Go on with all"}</button>}
  </section>;
}

function Inbox() {
  const all = useQuestions(), { loaded, error, more, jobs } = useWorld(), may = useMay(), [last, setLast] = useState("");
  useEvents((e) => { // also one that was given elsewhere, while somebody read or wrote here
    const of = e.kind === "answer" && jobs.find((j) => j.id === e.job);
    if (of) setLast(`${called(of)}: answered with ${visible((e.name ?? "").split("@")[0])}${e.data?.by ? " by " + visible(e.data.by) : ""}.`);
  });
  return <>
    <h1>Inbox</h1>
    <Problem of={error ? { message: error } : undefined} />
    {all.length > 0 && <p className="lead">{all.length === 1 ? "One question waits" : `${all.length} questions wait`} for you. <span className="keys">On a question, <kbd>a</kbd> allows once, <kbd>w</kbd> always, <kbd>d</kbd> denies; <kbd>j</kbd> and <kbd>k</kbd> move.</span></p>}
    <p role="status" className="weak">{last}</p>
    {more && <p className="weak">These are the questions of the newest {listed} jobs that run or wait; others come when those are answered.</p>}
    {all.map(({ job, q }) => <Asked key={job.id + q.path} job={job} q={q} />)}
    <Cut />
    {loaded && all.length === 0 && <Empty><p>Nobody waits for you.</p><p>{may("run") && <a className="button primary" href={to("start")}>Start a job</a>} <a className="button" href={to("jobs")}>Look at the jobs</a></p></Empty>}
  </>;
}

// ahead loads the views that were not opened yet, so that they are there when the server is not.
const ahead = () => void Promise.all([import("./start"), import("./talk"), import("./compare"), import("./costs"), import("./builder"), import("./waterfall"), import("./graph"), import("./rich"), import("./code")]).catch(() => {});

// Stand tells how the page stands with its server.
function Stand() {
  const link = useLink(), [was, setWas] = useState(false);
  useEffect(() => { if (link === "offline") setWas(true); if (link === "online" && was) { const t = setTimeout(() => setWas(false), 4000); return () => clearTimeout(t); } }, [link, was]);
  useEffect(() => { if (link === "online") (window.requestIdleCallback ?? setTimeout)(ahead); }, [link]);
  return <div role="status" className="stand">
    {link === "offline" && <p className="offline"><b>Offline.</b> The server does not answer. What you see is of before; the page goes on as soon as it is back.</p>}
    {link === "out" && <p className="offline"><b>This browser is not known any more.</b> <code>adroit serve</code> prints a link when it starts. <a href="/">Enter a token</a></p>}
    {link === "online" && was && <p className="back">The server is back.</p>}
  </div>;
}

// News has what changed read to those who do not see it.
function News() {
  const [text, set] = useState("");
  const { jobs } = useWorld();
  useEvents((e) => {
    const name = visible(jobs.find((j) => j.id === e.job)?.title || e.job);
    if (e.kind === "job.finished") set(`${name}: ${words(e.data?.status ?? "ended")}`);
    if (e.kind === "job.waiting") set(`${name} waits for ${plural(e.data?.waiting?.signals?.length ? 1 : 0, "answer")}`);
  });
  return <div className="hidden" aria-live="polite">{text}</div>;
}

// A Guard keeps the rest of the page when a view fails.
class Guard extends Component<{ children: ReactNode }, { error?: Error }> {
  state: { error?: Error } = {};
  static getDerivedStateFromError(error: Error) { return { error }; }
  render() { return this.state.error ? <Problem of={{ message: "This view failed: " + this.state.error.message, hint: "Reload the page; the jobs go on." }} /> : this.props.children; }
}

start();
createRoot(document.getElementById("root")!).render(<StrictMode><Page /></StrictMode>);
