import { useEffect, useRef, useState } from "react";
import { begin, to, useCall, useDirs, useSend, useSubmit, useWorld } from "./api";
import { Asked } from "./ask";
import { Say, standing, useRun } from "./job";
import { failed, shown, title, type Step } from "./steps";
import { ago, Empty, Markdown, Problem, sentence, Status, visible } from "./text";
import type { Detail } from "./types";

// Talk is a conversation with the agent chat: each one is a job.
export default function Talk({ id }: { id?: string }) {
  const { jobs } = useWorld(), talks = jobs.filter((j) => j.agent === "chat"), { dirs, usual } = useDirs(), submit = useSubmit();
  const [dir, setDir] = useState("");
  return <div className="talk">
    <aside><div className="head"><h1>Talk</h1>{id && <a className="button" href={to("talk")}>New</a>}</div>
      <ul>{talks.map((j) => <li key={j.id}><a href={to("talk", j.id)} aria-current={j.id === id ? "page" : undefined}>{visible(j.title || j.id)}<small>{ago(j.updated)}</small></a></li>)}</ul>
    </aside>
    {id ? <Conversation key={id} id={id} /> : <section aria-label="New conversation"><Empty><p>Ask about a project, or have something changed in it.</p></Empty>
      <label className="one">Directory<input list="talkdirs" value={dir} placeholder={usual || "/path/to/project"} required={!usual} form="talk" onChange={(e) => setDir(e.target.value)} /><datalist id="talkdirs">{dirs.map((d) => <option key={d} value={d} />)}</datalist></label>
      <Say label="Your message" button="Send" send={async (prompt) => {
        await begin(await submit({ target: "agent:chat", prompt, mentions: prompt, dir: dir || usual }), "talk");
      }} id="talk" /></section>}
  </div>;
}

function Conversation({ id }: { id: string }) {
  const { data: d, error, again } = useCall<Detail>("jobs/show", { job: id }), run = useRun(id, again), end = useRef<HTMLDivElement>(null);
  const list = shown(run), status = standing(d?.job.status ?? "", run.status), say = useSend(id);
  useEffect(() => { end.current?.scrollIntoView({ block: "end" }); }, [list.length, status]);
  if (!d) return error ? <Problem of={error} /> : <Empty>Loading…</Empty>;
  return <section aria-label="Conversation" className="conversation">
    <p className="crumb"><Status of={status} /> <a href={to("jobs", id)}>All steps of {id}</a></p>
    <h2 className="hidden">Conversation</h2>
    <div className="turns">
      {d.job.input?.prompt && <div className="mine"><Markdown text={d.job.input.prompt} /></div>}
      {list.map((s) => s.kind === "said" ? <div key={s.path} className="mine"><Markdown text={s.text} /></div> : <Turn key={s.path} s={s} running={status === "running"} />)}
      {d.questions?.map((q) => <Asked key={q.path} job={d.job} q={q} of />)}
      {["failed", "limit", "interrupted", "stuck"].includes(status) && <p className="problem">{visible(sentence(run.reason ?? d.job.reason ?? status))}</p>}
      <div ref={end} />
    </div>
    <Say label={status === "running" ? "It reads this before its next answer" : "Your message"} button="Send" send={async (text) => {
      await say(text, status !== "running");
      again();
    }} />
  </section>;
}

function Turn({ s, running }: { s: Step; running: boolean }) {
  const text = s.data?.text ?? s.live;
  if (s.kind === "model") return text ? <div className="theirs"><Markdown text={text} /></div> : !s.ended && running ? <p className="weak">Thinking…</p> : null;
  return <p className={"did" + (failed(s) ? " bad" : "")}><i aria-hidden="true">{failed(s) ? "✗" : s.ended ? "✓" : "●"}</i> {visible(title(s))} <span>{visible(String(s.data?.args?.command ?? s.data?.args?.path ?? s.text ?? "").split("\n")[0])}</span></p>;
}
