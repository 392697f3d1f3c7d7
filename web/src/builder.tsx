import { lazy, Suspense, useCallback, useEffect, useId, useMemo, useRef, useState, type KeyboardEvent, type ReactNode } from "react";
import { call, Failure, go, to, useCall, useDirs, useMay } from "./api";
import * as d from "./document";
import { Code, Empty, plural, Problem, visible } from "./text";
import type { Agent, Listing, Pipeline } from "./types";

const Graph = lazy(() => import("./graph").then((m) => ({ default: m.Declaration })));

interface File { name: string; layer: string; file: string; text: string; digest?: string }
interface Fault { line?: number; col?: number; severity: string; message: string; hint?: string }
interface Schema { type?: string; description?: string; enum?: unknown[]; anyOf?: Schema[]; items?: Schema; $ref?: string; properties?: Record<string, Schema>; $defs?: Record<string, Schema> }
interface Moment { text: string; chosen: string }

// A Draft is what is done to a file, with all states of its text. It stays when another view is opened.
interface Draft { past: Moment[]; now: Moment; next: Moment[]; saved: string; digest: string; file?: File }
const drafts = new Map<string, Draft>();
addEventListener("beforeunload", (e) => { if ([...drafts.values()].some((x) => x.file && x.now.text !== x.saved)) e.preventDefault(); });

const beginning = (name: string) => `name: ${name}\ndescription: What it is for, in a sentence.\nsteps:\n  - id: check\n    run: make test\n`;

export default function Builder({ dir, name }: { dir?: string; name?: string }) {
  return dir && name ? <Edit dir={dir} name={name} /> : <Choose />;
}

function Choose() {
  const { dirs, usual } = useDirs(), [dir, setDir] = useState(""), [entered, setEntered] = useState(""), [name, setName] = useState(""), at = entered || usual;
  const list = useCall<Listing<Pipeline>>(at ? "pipelines/list" : null, { dir: at, trust_project: true });
  const open = (p: Pipeline) => to("builder", at, p.layer === "project" ? p.file?.split("/").pop()?.replace(/\.yaml$/, "") ?? p.name : p.name);
  return <>
    <h1>Pipeline builder</h1>
    <p className="lead">A pipeline is a file of your project, <code>.adroit/pipelines/NAME.yaml</code>. You edit it here as a list, a form or text.</p>
    <form className="form" onSubmit={(e) => { e.preventDefault(); go("builder", dir || usual, name); }}>
      <div className="pair">
        <label>Directory<input list="dirs" value={dir} placeholder={usual || "/path/to/project"} required={!usual} onChange={(e) => setDir(e.target.value)} onBlur={() => setEntered(dir)} /><datalist id="dirs">{dirs.map((x) => <option key={x} value={x} />)}</datalist></label>
        <label>Name<input value={name} required pattern="[a-z][a-z0-9_\-]{0,63}" title="Lower-case letters, digits, _ and -" placeholder="ship" onChange={(e) => setName(e.target.value)} /></label>
      </div>
      <div className="buttons"><button className="primary">New pipeline</button></div>
    </form>
    <Problem of={list.error} />
    {list.data?.items?.length ? <><h2>Pipelines here</h2><ul className="jobs">{[...list.data.items].sort((a, b) => Number(b.layer === "project") - Number(a.layer === "project")).map((p) => <li key={p.name}><span className="note">{p.layer}</span><div className="what"><a href={open(p)}>{visible(p.name)}</a><p className="why">{visible(p.description)}</p></div><span className="meta">{plural(p.steps, "step")}</span></li>)}</ul></> : null}
    {list.data?.problems?.filter((p) => p.severity === "error").map((p, i) => <p key={i} className="warn">{visible(`${p.file}${p.line ? ":" + p.line : ""}: ${p.message}`)}</p>)}
  </>;
}

// Edit loads a file, unless there is a draft of it.
function Edit({ dir, name }: { dir: string; name: string }) {
  const key = dir + "\0" + name, [draft, setDraft] = useState(drafts.get(key)), [problem, setProblem] = useState<Failure>();
  const schema = useCall<Schema>("pipelines/schema");
  useEffect(() => {
    if (draft) return;
    const begin = (text: string, file?: File) => {
      const now: Draft = { past: [], now: { text, chosen: "" }, next: [], saved: file?.digest ? text : "", digest: file?.digest ?? "", file };
      drafts.set(key, now);
      setDraft(now);
    };
    call<File>("pipelines/read", { dir, name, trust_project: true }).then((f) => begin(f.text.replaceAll("\r\n", "\n"), f), (e: Failure) => {
      if (e.kind === "not_found") begin(beginning(name));
      else setProblem(e);
    });
  }, [key, draft]);
  if (problem || schema.error) return <><h1>{visible(name)}</h1><Problem of={problem ?? schema.error} /></>;
  if (!draft || !schema.data) return <Empty>Loading…</Empty>;
  return <Workshop key={key} dir={dir} name={name} draft={draft} schema={schema.data} />;
}

const base64 = (s: string) => btoa(Array.from(new TextEncoder().encode(s), (b) => String.fromCharCode(b)).join(""));

// useFaults has the faults of a text, by the linter of the command line.
function useFaults(dir: string, name: string, text: string): { of: string; faults: Fault[]; error?: Failure } {
  const [state, set] = useState<{ of: string; faults: Fault[]; error?: Failure }>({ of: "", faults: [] }), last = useRef(0);
  useEffect(() => {
    const n = ++last.current, soon = setTimeout(() => {
      call<{ problems: Fault[] }>("lint", { dir, kind: "pipelines", files: [{ name: name + ".yaml", text: base64(text) }] })
        .then((r) => { if (n === last.current) set({ of: text, faults: r.problems }); }, (error) => { if (n === last.current) set((s) => ({ ...s, error })); });
    }, 250);
    return () => clearTimeout(soon);
  }, [dir, name, text]);
  return state;
}

function Workshop({ dir, name, draft, schema }: { dir: string; name: string; draft: Draft; schema: Schema }) {
  const may = useMay(), [, render] = useState(0), again = () => render((n) => n + 1);
  const { text, chosen } = draft.now, parsed = useMemo(() => d.read(text), [text]), items = useMemo(() => d.items(parsed), [parsed]);
  const [pane, setPane] = useState<"text" | "graph">("text"), [news, setNews] = useState(""), [problem, setProblem] = useState<Failure>(), [theirs, setTheirs] = useState<File | null>(), [busy, setBusy] = useState(false);
  const lint = useFaults(dir, name, text), flush = useRef<(() => void) | undefined>(undefined), list = useRef<HTMLUListElement>(null), form = useRef<HTMLElement>(null), source = useRef<HTMLTextAreaElement>(null);
  const item = items.find((i) => i.key === chosen), dirty = text !== draft.saved;

  const change = useCallback((next: string, pick?: string) => {
    const now = draft.now;
    if (next === now.text) { if (pick !== undefined) draft.now = { ...now, chosen: pick }; } else {
      draft.past.push(now);
      draft.next = [];
      draft.now = { text: next, chosen: pick ?? now.chosen };
    }
    again();
  }, [draft]);
  const attempt = (f: () => void) => { try { f(); } catch (e) { setNews((e as Error).message); } };
  const choose = (key: string) => { flush.current?.(); draft.now = { ...draft.now, chosen: key }; again(); };
  const turn = (back: boolean) => {
    flush.current?.();
    const [from, into] = back ? [draft.past, draft.next] : [draft.next, draft.past], was = from.pop();
    if (!was) { setNews(back ? "Nothing to undo." : "Nothing to redo."); return; }
    into.push(draft.now);
    draft.now = was;
    setNews(back ? "Undone." : "Done again.");
    again();
  };
  const save = async (over?: string) => {
    flush.current?.();
    setBusy(true);
    setProblem(undefined);
    const sent = draft.now.text;
    try {
      const f = await call<File>("pipelines/write", { dir, name, text: sent, was: over ?? draft.digest });
      Object.assign(draft, { saved: sent, digest: f.digest ?? "", file: f });
      setTheirs(undefined);
      setNews("Saved and trusted.");
    } catch (e) {
      if ((e as Failure).kind === "stale") setTheirs(await call<File>("pipelines/read", { dir, name }).then((f) => (f.digest ? f : null), () => null));
      else setProblem(e as Failure);
    }
    setBusy(false);
  };
  const take = (f: File | null) => {
    if (f) { change(f.text = f.text.replaceAll("\r\n", "\n"), ""); draft.saved = f.text; }
    draft.digest = f?.digest ?? "";
    setTheirs(undefined);
    setNews("The text is that of the file. Undo brings yours back.");
  };

  const act = {
    add: () => attempt(() => { flush.current?.(); const [t, at] = d.add(draft.now.text, item?.path); change(t, at.join(".")); setNews("A step was added."); }),
    inner: () => attempt(() => { flush.current?.(); const [t, at] = d.add(draft.now.text, [...item!.path, "parallel", 1e6]); change(t, at.join(".")); }),
    copy: () => item && attempt(() => { flush.current?.(); const [t, at] = d.copy(draft.now.text, item.path); change(t, at.join(".")); setNews("The step was copied."); }),
    remove: () => item && attempt(() => {
      flush.current?.();
      const t = d.remove(draft.now.text, item.path), left = d.items(d.read(t)), i = items.indexOf(item);
      change(t, left.find((x) => x.key === item.key)?.key ?? left[Math.min(i, left.length) - 1]?.key ?? "");
      setNews(`${item.id || "The step"} was removed. Undo brings it back.`);
    }),
    move: (by: -1 | 1) => item && attempt(() => {
      flush.current?.();
      const [t, at] = d.move(draft.now.text, item.path, by);
      change(t, at.join("."));
      setNews(at.join(".") === item.key ? "It cannot go further." : `${item.id} is step ${Number(at.at(-1)) + 1} now.`);
    }),
  };
  const keys = (e: KeyboardEvent) => {
    const mod = e.ctrlKey || e.metaKey, key = e.key.toLowerCase();
    if (mod && key === "z") { e.preventDefault(); turn(!e.shiftKey); } else if (mod && key === "y") { e.preventDefault(); turn(false); } else if (mod && key === "s") { e.preventDefault(); void save(); }
  };
  const listKeys = (e: KeyboardEvent) => {
    if (e.ctrlKey || e.metaKey) return;
    const all = ["", ...items.map((i) => i.key)], at = all.indexOf(chosen), down = { ArrowDown: 1, ArrowUp: -1 }[e.key];
    const done = down ? (e.altKey ? act.move(down as 1 | -1) : choose(all[Math.max(0, Math.min(all.length - 1, at + down))]), true)
      : e.key === "Home" ? (choose(""), true) : e.key === "End" ? (choose(all.at(-1)!), true) : e.altKey ? false
      : e.key === "a" || e.key === "Insert" ? (act.add(), true) : e.key === "c" ? (act.copy(), true) : e.key === "Delete" ? (act.remove(), true)
      : e.key === "Enter" ? (form.current?.querySelector<HTMLElement>("input, textarea, select")?.focus(), true) : false;
    if (done) e.preventDefault();
  };
  useEffect(() => { list.current?.querySelector(`[aria-selected="true"]`)?.scrollIntoView({ block: "nearest" }); }, [chosen]);

  const fresh = lint.of === text, at = lint.faults.map((f) => ({ ...f, ...d.place(parsed, f.line, f.col) })), errors = lint.faults.filter((f) => f.severity === "error").length;
  const show = (line = 1) => { setPane("text"); requestAnimationFrame(() => { const s = source.current; if (!s) return; const start = text.split("\n").slice(0, line - 1).join("\n").length + (line > 1 ? 1 : 0); s.focus(); s.setSelectionRange(start, start + (text.split("\n")[line - 1]?.length ?? 0)); s.scrollTop = (line - 4) * 20; }); };
  const marks = (key: string) => at.filter((f) => (f.item?.key ?? "") === key && f.severity !== "note").length;
  const id = useId();
  return <div className="builder" onKeyDown={keys}>
    <p className="crumb"><a href={to("builder")}>Builder</a> › {visible(dir)}</p>
    <div className="head"><h1>{visible(name)}</h1>
      <div className="buttons">
        <button disabled={!draft.past.length} onClick={() => turn(true)}>Undo</button><button disabled={!draft.next.length} onClick={() => turn(false)}>Redo</button>
        {may("admin") && <button className="primary" disabled={busy || !dirty && Boolean(draft.digest)} onClick={() => void save()}>Save</button>}
        {may("run") && <button disabled={busy || dirty || !draft.digest || errors > 0} onClick={() => go("start", name, dir)}>Run…</button>}
      </div>
    </div>
    <p className="keys lead">In the list: arrows choose, <kbd>Alt</kbd> with arrows moves, <kbd>a</kbd> adds, <kbd>c</kbd> copies, <kbd>Delete</kbd> removes, <kbd>Enter</kbd> edits. Anywhere: <kbd>Ctrl Z</kbd> undoes, <kbd>Ctrl Shift Z</kbd> redoes, <kbd>Ctrl S</kbd> saves.</p>
    <p className="state" role="status"><b className={!fresh ? "" : errors ? "bad" : "good"}>{!fresh ? "Checking…" : errors ? plural(errors, "fault") : "No fault"}</b> <span>{!draft.digest ? draft.file ? `From ${draft.file.layer}; saving writes a copy into the project` : "Not in the project yet" : dirty ? "Not saved" : "Saved"}</span> <span>{news}</span></p>
    <Problem of={problem ?? lint.error} />
    {theirs !== undefined && <section className="stale" role="alertdialog" aria-labelledby={id + "stale"}><h2 id={id + "stale"}>{theirs ? "Somebody else has changed the file" : "Somebody else has removed the file"}</h2>
      <p>{theirs ? "Since you read it, it has become this:" : "Yours can be written anew."}</p>{theirs && <Code text={visible(theirs.text)} file="x.yaml" label="The file as it is" />}
      <div className="buttons">{theirs && <button className="primary" autoFocus onClick={() => take(theirs)}>Take theirs</button>}<button className="danger" disabled={busy} onClick={() => void save(theirs?.digest ?? "")}>{theirs ? "Write mine over it" : "Write mine"}</button><button onClick={() => setTheirs(undefined)}>Decide later</button></div></section>}
    <div className="bench">
      <section aria-label="Steps">
        <ul className="order" role="listbox" aria-label="Pipeline and its steps" tabIndex={0} ref={list} onKeyDown={listKeys} aria-activedescendant={id + (chosen || "top")}>
          {[undefined, ...items].map((i) => <li key={i?.key ?? ""} id={id + (i?.key || "top")} role="option" aria-selected={(i?.key ?? "") === chosen} data-depth={Math.min(i?.depth ?? 0, 4)} onClick={() => choose(i?.key ?? "")}>
            <b>{i ? visible(i.id) || "no id" : "Pipeline"}</b>{marks(i?.key ?? "") > 0 && <em className="bad">{plural(marks(i?.key ?? ""), "fault")}</em>}<small>{i ? `${i.kind || "no kind"} ${visible(i.note)}` : "name, inputs, limits"}</small></li>)}
        </ul>
        <div className="buttons small"><button onClick={act.add} disabled={Boolean(parsed.fault)}>Add</button><button disabled={!item} onClick={act.copy}>Copy</button><button disabled={!item} onClick={() => act.move(-1)}>Up</button><button disabled={!item} onClick={() => act.move(1)}>Down</button><button className="danger" disabled={!item} onClick={act.remove}>Remove</button></div>
      </section>
      <section aria-label={item ? "Step " + item.id : "Pipeline"} ref={form} className="fields">
        {parsed.fault ? <p className="warn">Line {parsed.fault.line} keeps the text from being read: {parsed.fault.message}. Mend it in the text.</p>
          : <Form key={chosen} item={item} t={parsed} schema={schema} faults={at} change={change} current={() => draft.now.text} flush={flush} items={items} dir={dir} inner={act.inner} />}
      </section>
      <section aria-label="Text and graph" className="panes">
        <div className="chips" role="group" aria-label="What is shown"><button aria-pressed={pane === "text"} onClick={() => setPane("text")}>Text</button><button aria-pressed={pane === "graph"} onClick={() => setPane("graph")}>Graph</button></div>
        {pane === "text" ? <Source text={text} faults={lint.faults} chosen={item && [parsed.lines.linePos(item.range[0]).line, parsed.lines.linePos(Math.max(item.range[0], item.range[1] - 1)).line]} flush={flush} change={change} area={source} />
          : <Suspense fallback={<Empty>Loading…</Empty>}><Graph steps={parsed.fault ? [] : parsed.doc.toJS()?.steps} picked={item?.id} pick={(x) => choose(items.find((i) => i.id === x)?.key ?? "")} /></Suspense>}
        {lint.faults.length > 0 && <ul className="faults" aria-label="Faults">{at.map((f, i) => <li key={i} className={f.severity}><button onClick={() => { choose(f.item?.key ?? ""); show(f.line); }}>Line {f.line ?? 1}</button> <span>{f.item && <b>{visible(f.item.id)}{f.field && " · " + f.field} </b>}{visible(f.message)}{f.hint && <small>{visible(f.hint)}</small>}</span></li>)}</ul>}
      </section>
    </div>
  </div>;
}

type Flush = { current: (() => void) | undefined };

// useTyped has what is typed, and hands it on when the typing pauses or ends.
function useTyped(value: string, commit: (v: string) => void, flush: Flush, wait: boolean) {
  const [typed, setTyped] = useState<string>(), now = useRef<string>(undefined), timer = useRef<number>(undefined), send = useRef(commit);
  send.current = commit;
  const end = useRef(() => {
    clearTimeout(timer.current);
    const v = now.current;
    now.current = undefined;
    if (flush.current === end.current) flush.current = undefined;
    if (v !== undefined) { setTyped(undefined); send.current(v); }
  });
  useEffect(() => () => end.current(), []);
  return {
    value: typed ?? value,
    onChange: (e: { target: { value: string } }) => {
      if (flush.current !== end.current) flush.current?.();
      now.current = e.target.value;
      setTyped(e.target.value);
      flush.current = end.current;
      clearTimeout(timer.current);
      if (!wait) timer.current = window.setTimeout(end.current, 700);
    },
    onBlur: () => end.current(),
  };
}

function Source({ text, faults, chosen, flush, change, area }: { text: string; faults: Fault[]; chosen?: number[]; flush: Flush; change: (t: string) => void; area: React.RefObject<HTMLTextAreaElement | null> }) {
  const typed = useTyped(text, change, flush, false), gutter = useRef<HTMLDivElement>(null), bad = new Set(faults.filter((f) => f.severity !== "note").map((f) => f.line ?? 1));
  useEffect(() => { if (chosen && area.current && document.activeElement !== area.current) area.current.scrollTop = Math.max(0, chosen[0] - 3) * 20; }, [chosen?.[0]]);
  return <div className="source"><div className="gutter" aria-hidden="true" ref={gutter}>{typed.value.split("\n").map((_, i) => <span key={i} className={(bad.has(i + 1) ? "bad" : "") + (chosen && i + 1 >= chosen[0] && i + 1 <= chosen[1] ? " chosen" : "")}>{i + 1}</span>)}</div>
    <textarea ref={area} aria-label="The file as text" spellCheck={false} wrap="off" {...typed} onScroll={(e) => { if (gutter.current) gutter.current.scrollTop = e.currentTarget.scrollTop; }} /></div>;
}

interface Placed extends Fault { item?: d.Item; field?: string }
interface FormProps { item?: d.Item; t: d.Text; schema: Schema; faults: Placed[]; change: (t: string, pick?: string) => void; current: () => string; flush: Flush; items: d.Item[]; dir: string; inner: () => void }

// of is what goes with each kind of step, and then what goes with all.
const of: Record<string, string[]> = { agent: ["input", "model", "inputs", "limits", "worktree", "mcp_servers"], run: ["repeatable"], tool: ["args", "repeatable"], pipeline: ["input", "inputs"] };
const labels: Record<string, string> = { id: "Id", run: "Command", onSuccess: "After success", onFailure: "After failure", mcp_servers: "MCP servers", max_steps: "Most runs of steps", max: "Most runs" };
const label = (f: string) => labels[f] ?? f[0].toUpperCase() + f.slice(1).replaceAll("_", " ");

function Form(p: FormProps) {
  const { item, schema, t } = p, agents = useCall<Listing<Agent>>("agents/list", { dir: p.dir }), pipelines = useCall<Listing<Pipeline>>("pipelines/list", { dir: p.dir }), tools = useCall<Listing<{ name: string }>>("tools/list");
  const props = item ? schema.$defs!.step.properties! : schema.properties!, kind = item?.kind ?? "", id = useId();
  const names = { agent: agents.data?.items, pipeline: pipelines.data?.items, tool: tools.data?.items }[kind]?.map((x) => x.name) ?? [];
  const steps = p.items.map((i) => i.id).filter((x) => x && x !== item?.id), path = item?.path ?? [];
  const own = new Set([...d.kinds, ...Object.values(of).flat()]), has = (f: string) => d.value(t, [...path, f]).as !== "none" || p.faults.some((x) => x.item?.key === item?.key && x.field === f);
  const rest = Object.keys(props).filter((f) => f !== "steps" && f !== "id" && f !== "name" && (!item || !own.has(f)));
  const here = p.faults.filter((f) => f.item?.key === item?.key && (!f.field || !(f.field in props)));
  const field = (f: string, options: string[] = []) => <Field key={f} {...p} name={f} schema={props[f]} path={[...path, f]} options={options} />;
  const options = (f: string) => f === "needs" ? steps : f === "onSuccess" ? [...steps, "end"] : f === "onFailure" ? item ? [...steps, "stop", "continue", "recovery", "coordinate"] : [] : [];
  const often = item ? ["input", "args", "output", "needs", "onFailure"] : ["description", "inputs", "onFailure"], all = [...(of[kind] ?? []), ...rest, ...(item ? [...own].filter((f) => !d.kinds.includes(f) && !of[kind]?.includes(f) && has(f)) : [])];
  const front = all.filter((f) => often.includes(f) || has(f)), more = [...(has("name") || !item ? [] : ["name"]), ...all.filter((f) => !front.includes(f))];
  return <>
    <h2 id={id}>{item ? `Step ${visible(item.id)}` : "Pipeline"}</h2>
    <Notes of={here} />
    {item && field("id")}{(!item || has("name")) && field("name")}
    {item && <label>Kind<select value={kind} onChange={(e) => p.change(d.setKind(p.current(), path, e.target.value))}>{!kind && <option value="" />}{d.kinds.map((k) => <option key={k}>{k}</option>)}</select></label>}
    {kind === "parallel" ? <div><p className="note">The steps of the group are in the list, below it.</p><div className="buttons small"><button onClick={p.inner}>Add a step to the group</button></div></div> : kind && field(kind, names)}
    {front.map((f) => field(f, options(f)))}
    {more.length > 0 && <details><summary>More</summary><div className="fields">{more.map((f) => field(f, options(f)))}</div></details>}
  </>;
}

function Notes({ of: all, id }: { of: Fault[]; id?: string }) {
  return all.length ? <div id={id}>{all.map((f, i) => <p key={i} className={f.severity === "error" ? "fault" : "fault mild"}>{visible(f.message)}{f.hint && <small>{visible(f.hint)}</small>}</p>)}</div> : null;
}

// Field is one value, in the form that the schema has for it.
function Field({ name, schema, path, options, item, t, faults, change, current, flush }: FormProps & { name: string; path: d.Path; options: string[] }) {
  const [bad, setBad] = useState(""), now = d.value(t, path), id = useId();
  const forms = schema.anyOf ?? [schema], is = (...types: string[]) => forms.some((f) => types.includes(f.type ?? "")), here = faults.filter((f) => f.item?.key === item?.key && f.field === name);
  const list = is("array") && now.as !== "yaml", text = !schema.anyOf && is("string") || is("string") && now.as !== "yaml", number = is("integer", "number") && now.as !== "yaml" && !text;
  const yaml = now.as === "yaml" || !list && !text && !number && !is("boolean") && !schema.enum;
  const put = (v: string) => {
    try {
      setBad("");
      const s = current();
      if (name === "id" && item) change(d.rename(s, path.slice(0, -1), v.trim()));
      else if (yaml) change(d.setYAML(s, path, v));
      else if (list) change(d.set(s, path, v.trim() ? v.split(",").map((x) => x.trim()).filter(Boolean) : undefined));
      else change(d.set(s, path, v === "" ? undefined : number ? d.typed(v) : v));
    } catch (e) { setBad((e as Error).message); }
  };
  const typed = useTyped(now.value, put, flush, name === "id" || yaml || list), described = here.length || bad ? id + "f" : undefined, help = schema.description;
  const long = yaml || ["run", "input", "description"].includes(name) || now.value.includes("\n");
  let input: ReactNode;
  if (schema.enum) input = <select value={now.value} onChange={(e) => put(e.target.value)}><option value="" />{schema.enum.map((v) => <option key={String(v)}>{String(v)}</option>)}</select>;
  else if (!schema.anyOf && is("boolean")) input = <input type="checkbox" checked={now.value === "true"} onChange={(e) => change(d.set(current(), path, e.target.checked || undefined))} />;
  else if (long) input = <textarea rows={Math.min(14, Math.max(yaml ? 1 : 2, typed.value.split("\n").length))} className={yaml ? "mono" : ""} spellCheck={!yaml} placeholder={yaml ? "YAML" : undefined} aria-invalid={here.length > 0} aria-describedby={described} {...typed} />;
  else input = <input list={options.length ? id + "o" : undefined} inputMode={number ? "numeric" : undefined} aria-invalid={here.length > 0} aria-describedby={described} {...typed} onKeyDown={(e) => { if (e.key === "Enter") flush.current?.(); }} />;
  const box = !schema.anyOf && is("boolean");
  return <div className="field"><label className={box ? "check" : ""}>{box ? <>{input} <span>{label(name)}{help && <small>{visible(help)}</small>}</span></> : <>{label(name)}{help && <small>{visible(help)}</small>}{input}</>}</label>
    {options.length > 0 && <datalist id={id + "o"}>{options.map((o) => <option key={o} value={o} />)}</datalist>}
    {described && <div id={described}><Notes of={here} />{bad && <p className="fault">{bad}</p>}</div>}
  </div>;
}
