import { useState, type KeyboardEvent } from "react";
import { call, Failure, refresh, to, useMay } from "./api";
import { ago, called, Code, DiffView, edited, Facts, json, mixed, Problem, visible } from "./text";
import type { About, Choice, Job, Question, Rule, Schema } from "./types";

// rule is a permission rule on a line, as adroit prints it.
export const rule = (r: Rule) => [r.do, r.tool, r.command && "`" + r.command + "`", r.path].filter(Boolean).join(" ");

const named = (n?: string[] | string) => (Array.isArray(n) ? n.join(", ") : n ?? "");
const signal = (s: string) => s.split("@")[0];

// Asked is a question with all that an answer covers.
export function Asked({ job, q, of }: { job: Job; q: Question; of?: boolean }) {
  const [busy, setBusy] = useState(false), [problem, setProblem] = useState<Failure>(), [why, setWhy] = useState(""), [denying, setDenying] = useState(false);
  const a = q.about ?? {}, answers = useMay()("answer");
  const answer = async (name: string, value?: unknown) => {
    setBusy(true);
    setProblem(undefined);
    try {
      await call("jobs/signal", { job: job.id, options: { name: q.signals.find((s) => signal(s) === name) ?? name, question: q.path, about: q.about, start: true, ...(value === undefined ? {} : { value }) } });
    } catch (e) { setProblem(e as Failure); }
    setBusy(false);
    void refresh();
  };
  const may = (n: string) => q.signals.some((s) => signal(s) === n);
  const tool = Boolean(a.tool) && may("approve");
  const keys = (e: KeyboardEvent<HTMLElement>) => {
    if (e.target !== e.currentTarget || e.ctrlKey || e.metaKey || e.altKey || busy) return;
    if (tool && answers && e.key === "a") void answer("approve");
    else if (tool && answers && e.key === "w" && a.always) void answer("approve", { always: true });
    else if (tool && answers && e.key === "d") { setDenying(true); e.preventDefault(); }
    else if (e.key === "j" || e.key === "k") {
      const all = [...document.querySelectorAll<HTMLElement>("article.ask")];
      all[all.indexOf(e.currentTarget) + (e.key === "j" ? 1 : -1)]?.focus();
    }
  };
  const who = called(job);
  return (
    <article className="ask" tabIndex={0} onKeyDown={keys} aria-label={`Question of ${who}: ${tool ? "may it run " + a.tool : a.question ?? "an answer"}`}>
      <header>
        <h2>{tool ? <>May it run <b>{visible(a.tool!)}</b>?</> : visible(a.question ?? "It waits for " + q.signals.map(signal).join(" or "))}</h2>
        <p className="by">{!of && <a href={to("jobs", job.id)}>{who}</a>} <span>{job.agent}</span> <span>{ago(q.asked)}</span>{q.until && <span>until {new Date(q.until).toLocaleString()}</span>}</p>
      </header>
      {tool ? <Call a={a} /> : <Other a={a} />}
      <Problem of={problem} />
      {!answers ? <p className="weak">The token of this browser may not answer.</p> : tool ? <>
        {a.always && <p className="rule">Always adds the rule <code>{visible(rule(a.always))}</code> for this job.</p>}
        {!denying ? <div className="buttons">
          <button className="primary" disabled={busy} onClick={() => answer("approve")}>Allow once <kbd>a</kbd></button>
          {a.always && <button disabled={busy} onClick={() => answer("approve", { always: true })}>Always <kbd>w</kbd></button>}
          <button className="danger" disabled={busy} onClick={() => setDenying(true)}>Deny… <kbd>d</kbd></button>
        </div> : <form className="say" onSubmit={(e) => { e.preventDefault(); void answer("deny", why || undefined); }}>
          <label>Why not, and what instead <input autoFocus value={why} onChange={(e) => setWhy(e.target.value)} onKeyDown={(e) => { if (e.key === "Escape") setDenying(false); }} /></label>
          <button className="danger" disabled={busy}>Deny</button><button type="button" onClick={() => setDenying(false)}>Back</button>
        </form>}
      </> : <Reply q={q} busy={busy} answer={answer} />}
    </article>
  );
}

// Call is what a call would do, and what it reaches.
function Call({ a }: { a: About }) {
  const args = a.args ?? {}, diff = a.preview?.startsWith("--- ");
  const covered = ["old", "new", "edits", "content", "patch", "blocks"];
  const rest = Object.entries(args).filter(([k]) => k !== "command" && !(diff && (covered.includes(k) || k === "path")));
  const odd = mixed(Object.values(args).map(json).join(" "));
  return <>
    {typeof args.command === "string" && <pre className="command" tabIndex={0} role="group" aria-label="The command">{visible(args.command)}</pre>}
    {a.preview && (diff ? <DiffView text={a.preview} asked /> : <Code text={visible(a.preview)} label="What it changes" />)}
    {rest.length > 0 && <><h3>Arguments</h3><Facts of={rest.map(([k, v]) => [visible(k), <span className="value">{visible(json(v))}</span>])} /></>}
    {odd.length > 0 && <p className="warn">Letters of several alphabets in one word: {visible(odd.join(", "))}</p>}
    {a.changed && <p className="warn">The tool is not as it was when it was accepted.</p>}
    <Facts of={[
      ["Because", visible(a.why ?? "")], ["In", visible(a.dir ?? "")], ["May", named(a.needs)], ["Sandbox", a.sandbox ?? ""], ["Network", a.network ?? ""],
      ...Object.entries(a.files ?? {}).map(([n, d]): [string, string] => ["Publishes", `${visible(n)} (sha256 ${d.slice(0, 12)})`]),
    ]} />
  </>;
}

function Other({ a }: { a: About }) {
  return <>
    {a.fault && <p className="warn">The answer before did not fit: {visible(a.fault)}</p>}
    {a.url && <p>It asks you to open <code>{visible(a.url)}</code></p>}
    <Facts of={[["Server", visible(a.asked_by ? `${a.server}, in its tool ${a.asked_by}` : "")], ["Pipeline", visible(a.pipeline ?? "")], ["Step", visible(a.step ?? "")]]} />
  </>;
}

// Reply is a form for an answer that is no yes or no to a call.
function Reply({ q, busy, answer }: { q: Question; busy: boolean; answer: (name: string, value?: unknown) => void }) {
  const schema = q.about?.schema, fields = Object.entries(schema?.properties ?? {});
  const [text, setText] = useState(""), [values, setValues] = useState<Record<string, unknown>>(() => Object.fromEntries(fields.flatMap(([k, p]) => { const v = p.default ?? (p.type === "boolean" && schema?.required?.includes(k) ? false : undefined); return v === undefined ? [] : [[k, v]]; })));
  const value = () => fields.length ? values : text === "" ? undefined : q.type && q.type !== "text" && q.type !== "string" ? parse(text) : text;
  return <form className="say" onSubmit={(e) => { e.preventDefault(); const by = (e.nativeEvent as SubmitEvent).submitter; answer(by?.dataset.signal ?? signal(q.signals[0]), value()); }}>
    {fields.length ? <Fields schema={schema!} values={values} set={setValues} /> : <label>Answer{q.type && ` (${q.type})`} <input value={text} onChange={(e) => setText(e.target.value)} /></label>}
    <div className="buttons">{q.signals.map((s, i) => <button key={s} className={i === 0 ? "primary" : ""} disabled={busy} data-signal={signal(s)} formNoValidate={/^(decline|cancel|deny)$/.test(signal(s))}>{visible(signal(s))}</button>)}</div>
  </form>;
}

const parse = (s: string): unknown => { try { return JSON.parse(s); } catch { return s; } };

// loose is what is typed where any value may stand, as by -i of adroit run: text, unless it is an object or a list.
const loose = (s: string): unknown => (/^\s*[[{]/.test(s) ? parse(s) : s);

// Fields is a form of a JSON Schema of an object. What is typed stays as it is typed; an empty field has the default.
export function Fields({ schema, values, set }: { schema: Schema; values: Record<string, unknown>; set: (v: Record<string, unknown>) => void }) {
  return <>{Object.entries(schema.properties ?? {}).map(([name, p]) => {
    const need = schema.required?.includes(name), many = p.type === "array", of = many ? p.items ?? {} : p;
    const all = of.enum?.map((v, i): Choice => ({ const: v, title: of.enumNames?.[i] })) ?? (of.oneOf ?? of.anyOf)?.filter((o) => o.const !== undefined), pick = (s: string) => all?.find((o) => String(o.const) === s)?.const;
    const put = (v: unknown) => { const next = { ...values }; if (v === "" || v === undefined) delete next[name]; else next[name] = v; set(next); };
    const now = values[name], usual = p.default === undefined ? undefined : json(p.default), any = p.type === "object" || p.type === "array" || !p.type;
    return <label key={name}>{visible(p.title ?? name)}{need && <span className="need"> (needed)</span>}{p.description && <small>{visible(p.description)}</small>}
      {all?.length ? <select required={need} multiple={many} value={many ? (now as unknown[] ?? []).map(String) : String(now ?? "")} onChange={(e) => put(many ? [...e.target.selectedOptions].map((o) => pick(o.value)) : pick(e.target.value))}>
        {!many && <option value="" />}{all.map((o) => <option key={String(o.const)} value={String(o.const)}>{visible(String(o.title ?? o.const))}</option>)}</select>
        : p.type === "boolean" ? <input type="checkbox" checked={Boolean(now)} onChange={(e) => put(e.target.checked)} />
        : p.type === "number" || p.type === "integer" ? <input type="number" step={p.type === "integer" ? 1 : "any"} required={need} value={String(now ?? "")} onChange={(e) => put(e.target.value === "" ? "" : Number(e.target.value))} />
        : any ? <textarea rows={p.type ? 3 : 2} required={need} defaultValue={now === undefined ? "" : json(now)} placeholder={usual ?? (p.type && "JSON")} onChange={(e) => put(p.type ? e.target.value && parse(e.target.value) : loose(e.target.value))} />
        : <textarea rows={2} required={need} value={String(now ?? "")} placeholder={usual} onChange={(e) => put(e.target.value)} />}
    </label>;
  })}</>;
}

export const edit = (args: Record<string, unknown>) => {
  const path = String(args.path ?? "");
  if (typeof args.old === "string" && typeof args.new === "string") return edited(path, args.old, args.new);
  if (typeof args.content === "string") return edited(path, "", args.content); // it may have been there before
  if (Array.isArray(args.edits)) return (args.edits as { old?: string; new?: string }[]).map((e) => edited(path, e.old ?? "", e.new ?? "")).join("\n");
  return typeof args.patch === "string" ? args.patch : "";
};
