import { useEffect, useRef, useState } from "react";
import { begin, call, Failure, useCall, useDirs, useSubmit } from "./api";
import { Fields } from "./ask";
import { Empty, Facts, plural, Problem, visible } from "./text";
import type { Agent, Field, Limits, Listing, Model, Pipeline, Schema } from "./types";

interface Plan { workflow: string; task: { model?: string; mode?: string; tools?: unknown[]; limits?: Limits }; stages?: string[]; ignored?: string[] }

const modes = [["", "as configured"], ["plan", "plan: read only"], ["edits", "edits: commands are asked about"], ["auto", "auto: also commands, in a sandbox"]];
// quote writes a word for a shell, and literal the value of an input, which - and @ would have read from elsewhere.
const quote = (s: string) => (/^[\w@%+=:,./-]+$/.test(s) ? s : "'" + s.replaceAll("'", "'\\''") + "'");
const literal = (s: string) => (/^\\*(@|-$)/.test(s) ? "\\" + s : s);

// schemaOf is what a form is made of: the inputs that a file declares.
const schemaOf = (inputs: Field[] = []): Schema => ({
  type: "object", required: inputs.filter((f) => !f.optional).map((f) => f.name),
  properties: Object.fromEntries(inputs.map((f) => [f.name, { description: f.description, default: f.default }])),
});

// useLast keeps the answer of before, of the same subject, until another one is there.
function useLast<T>(now: { data?: T; error?: Failure }, of = ""): { data?: T; error?: Failure } {
  const last = useRef<{ of: string; data?: T }>({ of });
  if (last.current.of !== of) last.current = { of };
  if (now.data) last.current.data = now.data;
  return { data: last.current.data, error: now.error };
}

export default function Start({ target, from = "" }: { target?: string; from?: string }) {
  const { dirs, usual } = useDirs(), submit = useSubmit();
  const [dir, setDir] = useState(from), [entered, setEntered] = useState(from), at = dir || usual, looked = entered || usual; // what is listed is that of a whole path
  const agents = useLast(useCall<Listing<Agent>>("agents/list", looked ? { dir: looked } : {})), pipelines = useLast(useCall<Listing<Pipeline>>("pipelines/list", looked ? { dir: looked } : {})), models = useCall<Model[]>("models/list");
  const [name, setName] = useState(target ?? "builder"), [prompt, setPrompt] = useState(""), [inputs, setInputs] = useState<Record<string, unknown>>({}), [model, setModel] = useState(""), [mode, setMode] = useState("");
  const [limits, setLimits] = useState<Record<string, string>>({}), [worktree, setWorktree] = useState(false), [busy, setBusy] = useState(false), [problem, setProblem] = useState<Failure>(), [plan, setPlan] = useState<Plan>(), [copied, setCopied] = useState(false);
  const agent = agents.data?.items?.find((a) => a.name === name), pipeline = pipelines.data?.items?.find((p) => p.name === name);
  const detail = useLast(useCall<{ inputs?: Field[] }>(pipeline && !agent ? "pipelines/show" : null, { name, ...(looked && { dir: looked }) }), name);
  const schema = schemaOf(agent?.inputs ?? detail.data?.inputs);
  useEffect(() => { setInputs({}); setPlan(undefined); }, [name]);
  const num = (k: string) => (limits[k] ? Number(limits[k]) : undefined);
  const wanted: Limits = { turns: num("turns"), tokens: num("tokens"), cost_usd: num("cost"), time: limits.time ? Math.round(Number(limits.time) * 60e9) : undefined };
  const request = {
    target: name, dir: at, ...(prompt && { prompt, mentions: prompt }), ...(model && { model, model_for_all: true }), ...(mode && { mode }), ...(worktree && { worktree }),
    ...(Object.keys(inputs).length && { inputs }), ...(Object.values(wanted).some(Boolean) && { limits: wanted }),
  };
  const dashed = prompt.startsWith("-"), line = ["adroit run", quote(name), prompt && !dashed && quote(prompt), at && "-C " + quote(at), model && "-m " + quote(model), mode && "--mode " + mode, worktree && "--worktree",
    ...Object.entries(inputs).map(([k, v]) => "-i " + quote(`${k}=${typeof v === "string" ? literal(v) : JSON.stringify(v)}`)),
    wanted.turns && "--max-turns " + wanted.turns, wanted.tokens && "--max-tokens " + wanted.tokens, wanted.cost_usd && "--max-cost " + wanted.cost_usd, limits.time && `--timeout ${limits.time}m`, dashed && "-- " + quote(prompt)].filter(Boolean).join(" ");
  const act = async (f: () => Promise<void>) => {
    setBusy(true);
    setProblem(undefined);
    try { await f(); } catch (e) { setProblem(e as Failure); }
    setBusy(false);
  };
  const usable = (models.data ?? []).filter((m) => !m.lacks);
  if (!agents.data && !agents.error) return <Empty>Loading…</Empty>;
  return <>
    <h1>Start a job</h1>
    {[...(agents.data?.problems ?? []), ...(pipelines.data?.problems ?? [])].filter((p) => p.severity === "error").map((p, i) => <p key={i} className="warn">{visible(`${p.file}${p.line ? ":" + p.line : ""}: ${p.message}${p.hint ? "; " + p.hint : ""}`)}</p>)}
    <form className="form" onSubmit={(e) => { e.preventDefault(); void act(async () => begin(await submit(request))); }}>
      <label>Agent or pipeline
        <select value={name} onChange={(e) => setName(e.target.value)}>
          {!agent && !pipeline && <option>{name}</option>}
          <optgroup label="Agents">{agents.data?.items?.map((a) => <option key={a.name} value={a.name}>{visible(a.name)}</option>)}</optgroup>
          <optgroup label="Pipelines">{pipelines.data?.items?.map((p) => <option key={p.name} value={p.name}>{visible(p.name)}</option>)}</optgroup>
        </select>
        <small>{visible(agent?.description ?? (pipeline ? `${pipeline.description} (${plural(pipeline.steps, "step")})` : ""))}</small></label>
      <label>What is to be done<textarea rows={4} value={prompt} placeholder={agent?.default_prompt} required={!agent?.default_prompt && !Object.keys(schema.properties ?? {}).length} onChange={(e) => setPrompt(e.target.value)} /></label>
      <Fields key={name} schema={schema} values={inputs} set={setInputs} />
      <div className="pair">
        <label>Directory<input list="dirs" value={dir} placeholder={usual || "/path/to/project"} required={!usual} onChange={(e) => setDir(e.target.value)} onBlur={() => setEntered(dir)} /><datalist id="dirs">{dirs.map((d) => <option key={d} value={d} />)}</datalist></label>
        <label>Model<input list="models" value={model} placeholder={agent?.model ?? "as configured"} onChange={(e) => setModel(e.target.value)} /><datalist id="models">{usable.map((m) => <option key={m.model} value={m.model} />)}</datalist></label>
        <label>Mode<select value={mode} onChange={(e) => setMode(e.target.value)}>{modes.map(([v, t]) => <option key={v} value={v}>{t}</option>)}</select></label>
      </div>
      <details><summary>Limits</summary><div className="pair">
        {[["turns", "Turns", agent?.limits?.turns], ["tokens", "Tokens", agent?.limits?.tokens], ["cost", "Cost in USD", agent?.limits?.cost_usd], ["time", "Minutes", agent?.limits?.time && agent.limits.time / 60e9]].map(([k, t, was]) =>
          <label key={k}>{t}<input type="number" min={0} step={k === "cost" ? "any" : 1} placeholder={was ? String(was) : ""} value={limits[k as string] ?? ""} onChange={(e) => setLimits({ ...limits, [k as string]: e.target.value })} /></label>)}
      </div></details>
      <label className="check"><input type="checkbox" checked={worktree} onChange={(e) => setWorktree(e.target.checked)} /> In a git worktree of its own, to be merged later</label>
      <Problem of={problem ?? agents.error} />
      {plan && <section className="plan" role="status"><h2>What would run</h2><Facts of={[["Workflow", plan.workflow], ["Model", plan.task.model ?? ""], ["Mode", plan.task.mode ?? ""], ["Tools", plan.task.tools?.length ? String(plan.task.tools.length) : ""]]} />{plan.stages?.map((s) => <p key={s}>{visible(s)}</p>)}{plan.ignored?.map((s) => <p key={s} className="warn">{visible(s)}</p>)}</section>}
      <div className="buttons"><button className="primary" disabled={busy}>Start</button><button type="button" disabled={busy} onClick={(e) => e.currentTarget.form?.reportValidity() && void act(async () => setPlan(await call<Plan>("jobs/resolve", request)))}>Check</button></div>
      <div className="copy"><code tabIndex={0}>{line}</code><button type="button" onClick={() => void navigator.clipboard.writeText(line).then(() => setCopied(true))}>{copied ? "Copied" : "Copy"}</button></div>
    </form>
  </>;
}
