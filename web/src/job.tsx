import { lazy, Suspense, useEffect, useMemo, useReducer, useRef, useState } from "react";
import { begin, call, Failure, follow, go, listen, refresh, to, useCall, useMay, useSend } from "./api";
import { Asked, edit, rule } from "./ask";
import { because, short } from "./jobs";
import { depth, failed, newRun, shown, tell, title, type Run, type Step } from "./steps";
import { called, Code, cost, count, DiffView, Empty, Facts, json, kindOf, Markdown, plural, Problem, sentence, Status, Terminal, took, visible } from "./text";
import type { Artifact, Detail, Diff, Final, Limits, Submitted, TestResult, UndoReport } from "./types";

const Waterfall = lazy(() => import("./waterfall"));
const Graph = lazy(() => import("./graph"));

// useRun is a job as its events tell it, as they come.
export function useRun(id: string, changed: () => void): Run {
  const [, draw] = useReducer((n: number) => n + 1, 0), run = useRef(newRun());
  useEffect(() => {
    run.current = newRun();
    let frame = 0, later = 0, stop = () => {}, over = false;
    const soon = () => { frame ||= requestAnimationFrame(() => { frame = 0; draw(); }); };
    let last = 0;
    const read = () => {
      stop = follow(`/v1/jobs/events?job=${encodeURIComponent(id)}&after=${last}&follow=true&live=true`, (e) => {
        if (e.seq && e.seq <= last) return;
        if (e.seq) last = e.seq;
        tell(run.current, e);
        soon();
        if (e.kind.startsWith("job.") || e.kind === "approval" || e.kind === "answer") changed();
        else if (e.kind === "step.finished" && e.step === "model") later ||= window.setTimeout(() => { later = 0; changed(); }, 2000);
      }, { job: id, end: () => { changed(); if (!over) idle(); } });
    };
    // The stream of a job that rests has ended; it begins again when somebody goes on with it.
    const idle = () => {
      stop = listen((e) => { if (e.job === id && (e.seq ?? 0) > last) { stop(); read(); } });
    };
    read();
    return () => { over = true; stop(); cancelAnimationFrame(frame); clearTimeout(later); };
  }, [id]);
  return run.current;
}

const tabs = [["steps", "Steps"], ["time", "Waterfall"], ["graph", "Graph"], ["changes", "Changes"], ["artifacts", "Artifacts"]] as const;

export function JobPage({ id }: { id: string }) {
  const { data: d, error, again } = useCall<Detail>("jobs/show", { job: id });
  const run = useRun(id, again), [tab, setTab] = useState<string>("steps");
  const answered = useCall<{ artifacts: Record<string, Artifact> }>(d ? "jobs/artifacts" : null, { job: id });
  useEffect(() => { if (d) answered.again(); }, [d?.job.updated]);
  if (error && !d) return <><h1>{id}</h1><Problem of={error} /><p><a href={to("jobs")}>All jobs</a></p></>;
  if (!d) return <Empty>Loading…</Empty>;
  const j = d.job, status = standing(j.status, run.status), arts = answered.data?.artifacts ?? {};
  const end = run.final && status !== "running" ? run.final as Final : d.final;
  const test = arts.test_result?.value as TestResult | undefined;
  const names = Object.keys(arts).filter((n) => n !== "diff" && n !== "diff_omitted");
  const live = status === "running" || status === "waiting" || status === "interrupted";
  const proved = end && !live && status !== "queued";
  return <>
    <p className="crumb"><a href={to("jobs")}>Jobs</a> / {j.id}</p>
    <div className="head"><h1>{called(j)}</h1>{j.workflow === "pipeline" && j.dir && <a className="button" href={to("builder", j.dir, j.input?.pipeline ?? j.agent ?? "")}>Open in the builder</a>}<Status of={status} /></div>
    {status !== "running" && !proved && !d.questions?.length && <p className="lead">{visible(because({ ...j, status, reason: run.reason ?? j.reason }))}</p>}
    {d.refused && status !== "running" && <Problem of={{ message: "It did not start: " + d.refused.message, hint: d.refused.hint }} />}
    <Doing d={d} status={status} run={run} again={again} />
    {d.questions?.map((q) => <Asked key={q.path} job={j} q={q} of />)}
    <Sums d={d} run={run} status={status} />
    {live && <Todo of={d.todo} />}
    {proved && <Proof end={end} test={test} run={run} alone={j.workflow === "agent"} />}
    <div role="tablist" aria-label="Views of the job" className="tabs" onKeyDown={(e) => {
      const i = tabs.findIndex((t) => t[0] === tab), n = e.key === "ArrowRight" ? i + 1 : e.key === "ArrowLeft" ? i - 1 : -9;
      if (n > -9) { const t = tabs[(n + tabs.length) % tabs.length][0]; setTab(t); document.getElementById("tab-" + t)?.focus(); }
    }}>{tabs.map(([t, name]) => <button key={t} id={"tab-" + t} role="tab" aria-selected={tab === t} aria-controls="panel" tabIndex={tab === t ? 0 : -1} onClick={() => setTab(t)}>
      {name}{t === "artifacts" && names.length > 0 && <span>{names.length}</span>}</button>)}</div>
    <div id="panel" role="tabpanel" aria-labelledby={"tab-" + tab} tabIndex={0}><h2 className="hidden">{tabs.find((t) => t[0] === tab)?.[1]}</h2><Suspense fallback={<Empty>Loading…</Empty>}>
      {tab === "steps" && <Steps run={run} d={d} test={test} status={status} again={again} />}
      {tab === "time" && <Waterfall run={run} status={status} />}
      {tab === "graph" && <Graph run={run} d={d} />}
      {tab === "changes" && <Changes d={d} stamp={j.updated + run.steps.length} again={again} status={status} />}
      {tab === "artifacts" && (names.length ? names.map((n) => <Made key={n} job={j.id} name={n} of={arts[n]} />) : <Empty><p>The job has produced nothing yet.</p></Empty>)}
    </Suspense></div>
  </>;
}

// standing is the status by the store, which knows of a runner that died, unless an event is ahead of it.
export function standing(stored: string, told: string): string {
  if (stored === "running" && told) return told;
  return told === "running" && ["queued", "waiting"].includes(stored) ? told : stored;
}

// Sums are what a job took, against its limits.
function Sums({ d, run, status }: { d: Detail; run: Run; status: string }) {
  const [, tick] = useReducer((n: number) => n + 1, 0);
  useEffect(() => { if (status === "running") { const t = setInterval(tick, 1000); return () => clearInterval(t); } }, [status]);
  const u = d.usage.total, f = d.final, usage = u.usage ?? f?.usage ?? {}, limits = { ...d.job.input?.limits }, spent = d.usage.cost_usd ?? u.cost_usd ?? 0;
  const time = run.began ? (status === "running" ? Date.now() : run.ended ?? run.began) - run.began : 0, live = run.steps.filter((s) => s.kind === "model" && s.ended).length;
  const tokens = (usage.in ?? 0) + (usage.out ?? 0);
  for (const k of Object.keys(limits) as (keyof Limits)[]) limits[k] = Math.max(0, d.job.output?.raised?.[k] ?? limits[k] ?? 0); // a negative one is none
  const bars: [string, number, number, string][] = [["Turns", Math.max(u.turns ?? 0, status === "running" ? live : 0), limits.turns ?? 0, ""], ["Tokens", tokens, limits.tokens ?? 0, ""], ["Cost", spent, limits.cost_usd ?? 0, "$"]];
  return <section className="sums" aria-label="What it took">
    <div><b>{took(time)}</b><span>time</span></div>
    {bars.map(([name, now, most, unit]) => (now > 0 || most > 0) && <div key={name}><b>{unit ? cost(now) || "$0" : count(now)}{most > 0 && <small> of {unit}{count(most)}</small>}</b><span>{name.toLowerCase()}</span>
      {most > 0 && <meter aria-label={name + " of the limit"} min={0} max={most} high={most * 0.8} value={Math.min(now, most)} />}</div>)}
    {tokens > 0 && <div><b>{count(usage.in)} <small>in</small> {count(usage.out)} <small>out</small></b><span>{usage.cached ? count(usage.cached) + " cached" : "none cached"}</span></div>}
    {(u.calls ?? 0) > 0 && <div><b>{u.calls}</b><span>calls</span></div>}
    {(d.usage.parts?.length ?? 0) > 0 && <div><b>{d.usage.parts!.length}</b><span>parts</span></div>}
    <div className="wide"><b>{d.job.agent} <small>{d.job.model !== "none" && short(d.job.model ?? "")}</small></b><span title={visible(d.job.dir ?? "")}>{visible(d.job.dir ?? "")}</span></div>
  </section>;
}

// Todo is the list of tasks that the agent keeps.
function Todo({ of }: { of: unknown }) {
  if (!Array.isArray(of) || !of.length) return null;
  return <section aria-label="Tasks" className="todo"><ul>{(of as { content?: string; status?: string }[]).map((t, i) => <li key={i} className={t.status}><i aria-hidden="true">{t.status === "completed" ? "✓" : t.status === "in_progress" ? "●" : "○"}</i> {visible(t.content ?? "")} <span className="hidden">{t.status}</span></li>)}</ul></section>;
}

// Proof is why a job counts as done, or why it does not.
function Proof({ end, test, run, alone }: { end: Final; test?: TestResult; run: Run; alone: boolean }) {
  const good = kindOf(end.status) === "good", last = run.steps.findLast((s) => failed(s));
  return <section className={"proof " + (good ? "good" : "bad")} aria-label="Proof">
    <h2>{good ? "Why it is done" : "Why it is not done"}</h2>
    {end.reason && !end.met?.includes(end.reason) && <p>{visible(sentence(end.reason))}</p>}
    {(end.met?.length || end.unmet?.length) ? <ul>
      {end.met?.map((c) => end.unchecked?.includes(c) ? <li key={c}><i aria-hidden="true">–</i><span className="hidden">not checked: </span>{visible(c)}</li> : <li key={c} className="met"><i aria-hidden="true">✓</i><span className="hidden">holds: </span>{visible(c)}</li>)}
      {end.unmet?.map((c) => <li key={c} className="unmet"><i aria-hidden="true">✗</i><span className="hidden">does not hold: </span>{visible(c)}</li>)}
    </ul> : good && alone && <p className="weak">No check was asked for: this is the model's account.</p>}
    {end.evidence && <details><summary>What the checks said</summary><Terminal text={end.evidence} label="What the checks said" /></details>}
    {test && <Tests of={test} />}
    {!good && last && <p><a href="#panel" onClick={(e) => { e.preventDefault(); const el = document.getElementById("step-" + last.path); if (el instanceof HTMLDetailsElement) { el.open = true; el.scrollIntoView({ block: "center" }); el.querySelector("summary")?.focus(); } }}>Go to the last failure</a></p>}
    {end.summary && <Markdown text={end.summary} />}
  </section>;
}

export function Tests({ of: t }: { of: TestResult }) {
  const list = t.tests ?? [], bad = list.filter((x) => x.status === "fail"), rest = list.filter((x) => x.status !== "fail"), first = bad.find((x) => x.output) ?? bad[0];
  const row = (x: (typeof list)[0], i: number) => <details key={i} open={x === first} className={x.status}><summary><i aria-hidden="true">{x.status === "fail" ? "✗" : x.status === "skip" ? "–" : "✓"}</i><span className="hidden">{x.status}</span> {visible(x.name)} <small>{visible(`${x.package ?? ""}${x.file ? ` ${x.file}:${x.line}` : ""}`)}</small></summary>{x.output ? <Terminal text={x.output} label={"Output of " + visible(x.name)} /> : <p className="weak">It printed nothing.</p>}</details>;
  if (t.problem && !t.failed) return <p className="weak">{visible(t.problem)}</p>;
  return <div className="tests"><p><b className={t.failed ? "bad" : "good"}>{t.failed ? plural(t.failed, "test") + " failed" : plural(t.passed, "test") + " passed"}</b>{t.failed > 0 && `, ${t.passed} passed`}{t.skipped > 0 && `, ${t.skipped} skipped`} <code>{visible(t.command ?? "")}</code></p>
    {bad.map(row)}{rest.length > 0 && <details className="rest"><summary>{plural(rest.length, "test")} {bad.length ? "more" : "in all"}</summary>{rest.map(row)}</details>}</div>;
}

function Steps({ run, d, test, status, again }: { run: Run; d: Detail; test?: TestResult; status: string; again: () => void }) {
  const [most, setMost] = useState(200), all = shown(run), list = all.slice(-most), tests = all.findLast((s) => s.name === "run_tests")?.path, prompt = d.job.input?.prompt;
  return <ol className="steps">
    {(prompt || d.job.input?.inputs) && <li className="asked"><b>Asked</b>{prompt && <Markdown text={prompt} />}{d.job.input?.inputs && <Facts of={Object.entries(d.job.input.inputs).map(([k, v]) => [visible(k), <span className="value">{visible(json(v))}</span>])} />}</li>}
    {all.length > most && <li><button onClick={() => setMost(most + 200)}>Show earlier ({all.length - most} steps)</button></li>}
    {list.map((s) => s.kind === "said" ? <li key={s.path} className="asked"><b>Said</b><Markdown text={s.text} /></li> : <li key={s.path} style={{ marginInlineStart: Math.min(depth(run, s), 4) * 20 }}><One s={s} d={d} test={s.path === tests ? test : undefined} status={status} changed={d.changes.steps?.includes(s.path)} again={again} /></li>)}
    {list.length === 0 && <li><Empty>{status === "queued" ? "It waits to be started." : "No step yet."}</Empty></li>}
  </ol>;
}

const icons: Record<string, string> = { model: "◆", tool: "▸", await: "?", agent: "◈", part: "▪", compact: "≋", note: "!" };

function One({ s, d, test, status, changed, again }: { s: Step; d: Detail; test?: TestResult; status: string; changed?: boolean; again: () => void }) {
  const running = !s.ended && status === "running", model = s.kind === "model", waits = s.kind === "await" && !s.ended;
  const [open, setOpen] = useState<boolean | undefined>(), wide = model && (s.data?.text || s.live), is = open ?? Boolean(wide || running || failed(s) || (test && test.failed));
  const use = s.data?.usage;
  return <details id={"step-" + s.path} className={"step " + s.kind + (failed(s) ? " failed" : running ? " running" : waits ? " waits" : "")} open={is} onToggle={(e) => { if (e.currentTarget.open !== Boolean(is)) setOpen(e.currentTarget.open); }}>
    <summary>
      <i aria-hidden="true">{running ? "●" : icons[s.kind] ?? "·"}</i>
      <b>{visible(title(s))}</b> <span className="line">{visible(line(s))}</span>
      <span className="nums">
        {running && <em>running</em>}{failed(s) && <em className="bad">{s.data?.refused ? "refused" : "failed"}</em>}
        {s.tries.length > 0 && <span>{s.tries.length + 1} attempts</span>}
        {use && use.in + use.out > 0 && <span title={`${use.in} in, ${use.out} out, ${use.cached ?? 0} cached`}>{count(use.in)} in {count(use.out)} out{use.cached ? ` ${count(use.cached)} cached` : ""}</span>}
        {model && s.first && <span>first word {took(s.first - s.began)}</span>}
        {s.data?.cost_usd > 0 && <span>{cost(s.data.cost_usd)}</span>}
        {s.ended && <span>{took(s.ended - s.began)}</span>}
      </span>
    </summary>
    {is && <div className="body"><Body s={s} test={test} />{s.tries.map((t, i) => <p key={i} className="warn">Attempt {i + 1} failed: {visible(t.why ?? "")}</p>)}{s.error && <p className="problem">{visible(s.error)}</p>}
      <Hands s={s} d={d} changed={changed} status={status} again={again} /></div>}
  </details>;
}

function line(s: Step): string {
  const a = s.data?.args;
  if (s.kind === "tool" && a) return String(a.command ?? a.path ?? a.query ?? a.pattern ?? a.url ?? a.summary ?? s.text ?? "").split("\n")[0];
  if (s.kind === "model") return s.data?.calls?.length ? "calls " + s.data.calls.join(", ") : "";
  if (s.kind === "await") return s.data?.said ? `${s.data.said.name} by ${s.data.said.by}` : s.data?.question ?? s.data?.tool ?? "";
  return s.text;
}

// Body is a step by its kind.
function Body({ s, test }: { s: Step; test?: TestResult }) {
  const a = s.data?.args ?? {}, text: string = s.data?.text ?? s.live;
  if (s.kind === "model") return <>{s.thinking && <details className="thinking" open={!s.ended && !s.live}><summary>Thinking</summary><p className="plain">{visible(s.thinking)}</p></details>}{text ? <Markdown text={text} /> : !s.ended && <p className="weak">Thinking…</p>}</>;
  if (s.kind === "await") return <>
    {s.data?.question && <p>{visible(s.data.question)}</p>}
    {s.data?.said && <p>{visible(s.data.tool ?? "It")} was answered with <b>{visible(s.data.said.name)}</b> by {visible(s.data.said.by ?? "")}{s.data.said.value !== undefined && <>: {visible(json(s.data.said.value))}</>}</p>}
    {s.data?.always && <p className="weak">Always would have added {visible(rule(s.data.always))}</p>}
  </>;
  if (s.kind === "agent" || s.kind === "part") return <><p className="plain">{visible(s.text)}</p>{typeof s.data?.output === "string" && <Code text={visible(s.data.output)} label="Its output" />}{s.data?.summary && <Markdown text={s.data.summary} />}</>;
  if (s.kind !== "tool") return <p className="plain">{visible(s.text)}</p>;
  if (test) return <Tests of={test} />;
  const diff = s.data?.diff || edit(a);
  if (diff) return <><DiffView text={diff} />{failed(s) && text && <Terminal text={text} />}</>;
  if (typeof a.command === "string") return <><pre className="command" tabIndex={0} role="group" aria-label="The command">{visible(a.command)}</pre>{text && <Terminal text={text} />}</>;
  const rest = Object.entries(a).filter(([k]) => k !== "path");
  if (s.name === "git_diff" && text.includes("\n@@")) return <DiffView text={text} />;
  return <>{rest.length > 0 && <Facts of={rest.map(([k, v]) => [visible(k), <span className="value">{visible(json(v))}</span>])} />}
    {text && (s.name === "read_file" && !failed(s) ? <Code text={visible(text)} file={String(a.path ?? "")} label={String(a.path ?? "The file")} /> : <Terminal text={text} />)}</>;
}

// Hands are what can be done at a step.
function Hands({ s, d, changed, status, again }: { s: Step; d: Detail; changed?: boolean; status: string; again: () => void }) {
  const [fork, setFork] = useState(false), [undo, setUndo] = useState(false), may = useMay();
  const rests = status !== "running" && status !== "queued";
  if (!may("run") || !(s.turn && s.ended) && !(changed && rests)) return null;
  return <div className="buttons small">
    {s.turn && s.ended && <button onClick={() => setFork(!fork)} aria-expanded={fork}>Fork from here…</button>}
    {changed && rests && <button onClick={() => setUndo(!undo)} aria-expanded={undo}>Undo this step…</button>}
    {fork && <Say label="What the new job is told at this place (it may be empty)" button="Fork" optional done={() => setFork(false)} send={async (text) => begin(await call<Submitted>("jobs/retry", { job: d.job.id, options: { from: s.turn, ...(text && { message: text, mentions: text }) } }))} />}
    {undo && <Undo job={d.job.id} step={s.path} done={() => { again(); void refresh(); }} />}
  </div>;
}

// Say takes words for something that is done with them.
export function Say({ label, button, send, done, optional, id }: { label: string; button: string; id?: string; send: (text: string) => Promise<unknown>; done?: () => void; optional?: boolean }) {
  const [text, setText] = useState(""), [busy, setBusy] = useState(false), [problem, setProblem] = useState<Failure>();
  return <form id={id} className="say" onSubmit={async (e) => {
    e.preventDefault();
    setBusy(true);
    setProblem(undefined);
    try { await send(text); setText(""); done?.(); } catch (x) { setProblem(x as Failure); }
    setBusy(false);
  }}>
    <label>{label}<textarea rows={2} value={text} required={!optional} onChange={(e) => setText(e.target.value)} onKeyDown={(e) => { if (e.key === "Enter" && (e.ctrlKey || e.metaKey)) e.currentTarget.form?.requestSubmit(); }} /></label>
    <button className="primary" disabled={busy}>{button}</button><Problem of={problem} />
  </form>;
}

// Doing has what can be done with a job as it stands.
function Doing({ d, status, run, again }: { d: Detail; status: string; run: Run; again: () => void }) {
  const [busy, setBusy] = useState(false), [problem, setProblem] = useState<Failure>(), [more, setMore] = useState(""), [report, setReport] = useState("");
  const may = useMay()("run"), job = d.job.id, live = status === "running" || status === "queued", send = useSend(job), can = (x: string) => d.actions?.some((a) => a.do === x);
  const limit = d.actions?.find((a) => a.do === "resume")?.limit;
  const act = async (f: () => Promise<unknown>) => {
    setBusy(true);
    setProblem(undefined);
    try { await f(); again(); void refresh(); } catch (e) { setProblem(e as Failure); }
    setBusy(false);
  };
  const toggle = (x: string) => setMore(more === x ? "" : x);
  const resume = () => act(() => call("jobs/start", { job, options: { live: true, ...(limit && { limits: raised(limit, d) }) } }));
  return <div className="doing">
    <div className="buttons">
      {may && <>
        {live && run.status === "running" && <button disabled={busy} onClick={() => act(() => call("jobs/stop", { job }))}>Interrupt</button>}
      {!live && !kindDone(status) && (can("resume") || ["interrupted", "blocked", "failed", "limit"].includes(status)) && status !== "waiting" && <button className="primary" disabled={busy} onClick={resume}>{limit ? `Resume with ${amount(raised(limit, d))}` : "Resume"}</button>}
      {status === "queued" && <button className="primary" disabled={busy} onClick={resume}>Start</button>}
      <button onClick={() => toggle("say")} aria-expanded={more === "say"}>{live ? "Say something…" : "Continue…"}</button>
      {!live && <button disabled={busy} onClick={() => act(async () => begin(await call<Submitted>("jobs/retry", { job })))}>Retry</button>}
      {can("retry") && d.actions!.some((a) => a.carry_out) && <button className="primary" disabled={busy} onClick={() => act(async () => begin(await call<Submitted>("jobs/retry", { job, options: { carry_out: true } })))}>Carry out the plan</button>}
      {!live && d.changes.changed && <button onClick={() => toggle("undo")} aria-expanded={more === "undo"}>Undo…</button>}
      {d.worktree && can("merge") && <button className="primary" onClick={() => toggle("merge")} aria-expanded={more === "merge"}>Merge…</button>}
      </>}
      <button onClick={() => go("compare", job)}>Compare</button>
      {may && !kindDone(status) && !["failed", "cancelled"].includes(status) && <button className="danger" disabled={busy} onClick={() => more === "cancel" ? act(() => call("jobs/cancel", { job })).then(() => setMore("")) : setMore("cancel")}>{more === "cancel" ? "Cancel for good" : "Cancel…"}</button>}
    </div>
    <Problem of={problem} />
    {report && <p role="status">{report}</p>}
    {more === "say" && <Say label={live ? "It reads this before its next answer" : "It goes on in the same conversation with this"} button="Send" done={() => { setMore(""); again(); }} send={async (text) => {
      await send(text, !live);
    }} />}
    {more === "undo" && <Undo job={job} done={() => { again(); void refresh(); }} />}
    {more === "merge" && <Say label="Message of the commit (it may be empty)" button="Merge" optional done={() => { setMore(""); again(); }} send={async (text) => {
      const r = await call<{ into: string; commit?: string; paths?: string[] }>("jobs/merge", { job, options: text ? { message: text } : {} });
      setReport(r.commit ? `Merged into ${r.into}: ${plural(r.paths?.length ?? 0, "file")}.` : "There was nothing to merge.");
    }} />}
  </div>;
}

const kindDone = (s: string) => kindOf(s) === "good";

// raised doubles the limit that a job was stopped by.
function raised(limit: string, d: Detail): Limits {
  const l = d.job.input?.limits ?? {}, used = d.usage.total;
  if (limit === "turns") return { turns: Math.max(l.turns ?? 0, used.turns ?? 0, 1) * 2 };
  if (limit === "tokens") return { tokens: Math.max(l.tokens ?? 0, (used.usage?.in ?? 0) + (used.usage?.out ?? 0), 1) * 2 };
  if (limit === "cost") return { cost_usd: Math.max(l.cost_usd ?? 0, used.cost_usd ?? 0) * 2 };
  return { time: Math.max(l.time ?? 0, d.job.output?.spent_ns ?? 0, 60e9) * 2 };
}

// amount is a limit in words.
const amount = (l: Limits) => l.turns ? plural(l.turns, "turn") : l.tokens ? count(l.tokens) + " tokens" : l.cost_usd ? cost(l.cost_usd) : took((l.time ?? 0) / 1e6);

// Undo shows what it would take back before it does so.
function Undo({ job, step, done }: { job: string; step?: string; done: () => void }) {
  const options = step ? { step } : {}, { data, error } = useCall<Diff>("jobs/diff", { job, options });
  const [report, setReport] = useState<UndoReport>(), [problem, setProblem] = useState<Failure>(), [busy, setBusy] = useState(false);
  if (report) return <div className="undo" role="status"><p><b>{report.step ? "Undone." : "There was nothing left to undo."}</b> {report.restored?.length ? "Restored: " + visible(report.restored.join(", ")) + ". " : ""}{report.removed?.length ? "Removed: " + visible(report.removed.join(", ")) + "." : ""}</p>
    {report.skipped?.map((s) => <p key={s.path} className="warn">{visible(`${s.path} stays: ${s.reason}`)}</p>)}</div>;
  return <div className="undo">
    <h3>{step ? "Undoing this step takes back" : "Undo takes back"}</h3>
    <Problem of={error ?? problem} />
    {data && (data.diff ? <DiffView text={data.diff} /> : <p>Nothing: no file that it changed is as it left it.</p>)}
    {data?.changes?.some((c) => c.uncertain) && <p className="warn">What may be somebody else's work stays.</p>}
    {data?.diff && <button className="danger" disabled={busy} onClick={async () => {
      setBusy(true);
      try { setReport(await call<UndoReport>("jobs/undo", { job, options })); done(); } catch (e) { setProblem(e as Failure); }
      setBusy(false);
    }}>Undo {plural(data.changes?.length ?? 0, "file")}</button>}
  </div>;
}

function Changes({ d, stamp, again, status }: { d: Detail; stamp: string; again: () => void; status: string }) {
  const { data, error, again: reload } = useCall<Diff>("jobs/diff", { job: d.job.id, options: {} });
  useEffect(() => { reload(); }, [stamp]);
  const [undo, setUndo] = useState(""), may = useMay();
  return <>
    <Problem of={error} />
    {data?.incomplete?.map((w) => <p key={w} className="warn">{visible(w)}</p>)}
    {data && (data.diff ? <>
      <p className="lead">{plural(data.changes?.length ?? 0, "file")} changed{d.worktree && <> in a worktree on the branch <code>{d.worktree.branch}</code></>}.</p>
      <DiffView text={data.diff} />
      {may("run") && status !== "running" && <p><button onClick={() => setUndo(undo ? "" : "all")} aria-expanded={undo !== ""}>Undo all…</button></p>}
    </> : <Empty><p>No file differs from what it was before the job.</p></Empty>)}
    {undo && <Undo job={d.job.id} done={() => { again(); reload(); }} />}
  </>;
}

// filesOf are the paths that an artifact has: its own, or those of its list.
const filesOf = (v: unknown): string[] => (Array.isArray(v) ? v : [v]).map((x) => (x as { path?: unknown } | null)?.path).filter((p): p is string => typeof p === "string" && p !== "");

// Made is something that a job has produced.
export function Made({ job, name, of }: { job: string; name: string; of: Artifact }) {
  const text = json(of.value), v = of.value as any, files = filesOf(v);
  const url = useMemo(() => URL.createObjectURL(new Blob([text], { type: "application/octet-stream" })), [text]);
  useEffect(() => () => URL.revokeObjectURL(url), [url]);
  return <details className="made" open><summary><b>{visible(name)}</b> <small>{of.tool && `by ${of.tool}, `}version {of.version}</small></summary>
    {files.slice(0, 40).map((p) => <ProducedFile key={p} address={`/v1/jobs/file?${new URLSearchParams({ job, artifact: name, path: p, v: String(of.version ?? 0) })}`} path={p} />)}
    {name === "test_result" ? <Tests of={v} /> : text.startsWith("diff --git") ? <DiffView text={text} /> : typeof v === "string" && !/^[[{]/.test(v) ? <Markdown text={text} /> : <Code text={visible(text)} file="x.json" label={name} />}
    <p><a className="button" href={url} download={name + (typeof v === "string" ? ".txt" : ".json")}>{files.length ? "Download the record" : "Download"}</a></p>
  </details>;
}

// ProducedFile is a file that a job has made, to look at, play or save. One that is gone or refused says why.
function ProducedFile({ address, path }: { address: string; path: string }) {
  const [problem, setProblem] = useState<string>(), name = path.split("/").pop() ?? path, kind = /\.(png|jpe?g|gif|webp|avif)$/i.test(name) ? "image" : /\.(mp3|m4a|aac|wav|ogg|opus|flac)$/i.test(name) ? "audio" : /\.(mp4|webm|mov)$/i.test(name) ? "video" : "";
  const failed = () => void fetch(address, { headers: { Range: "bytes=0-0" } }).then(async (r) => setProblem(r.ok ? "This browser cannot show it." : ((await r.json()) as { detail?: string }).detail), () => {});
  return <figure className="file">
    <figcaption><code>{visible(path)}</code> <a className="button" href={address + "&download=true"} download={name}>Download</a></figcaption>
    {problem ? <p className="warn">{visible(problem)}</p> : kind === "image" ? <img src={address} alt={visible(path)} loading="lazy" onError={failed} /> : kind === "audio" ? <audio controls preload="metadata" src={address} aria-label={visible(path)} onError={failed} /> : kind === "video" ? <video controls preload="metadata" src={address} aria-label={visible(path)} onError={failed} /> : null}
  </figure>;
}
