import type { Event } from "./types";

// A Step is one of a job as its events tell it: a model's answer, a call of a tool, a wait, what somebody said, or a part that has
// steps of its own.
export interface Step {
  path: string; kind: string; name: string; text: string; error?: string; data?: any;
  began: number; ended?: number; // ms
  tries: { at: number; why?: string }[]; // ends of attempts that failed
  first?: number; // ms: when the first piece of an answer came
  live: string; thinking: string; // pieces that came so far
  seq?: number; turn?: number; // of a model: which answer of the job itself, from 1
  within?: string; recalled?: boolean;
}

export interface Run {
  steps: Step[]; byPath: Map<string, Step>; began?: number; ended?: number; status: string; reason?: string; final?: any;
  open: { path: string; step: Step }[]; // parts that have begun, the innermost last
  turns: number; notes: Event[]; 
}

export const newRun = (): Run => ({ steps: [], byPath: new Map(), status: "", open: [], turns: 0, notes: [] });

const hides = new Set(["resolve", "pin", "note", "checkpoint"]);

// below reports whether a path is that of a step which began after another one, in the same list or deeper.
function after(path: string, of: string): boolean {
  const a = path.split(".").map(Number), b = of.split(".").map(Number);
  for (let i = 0; i < b.length - 1; i++) if (a[i] !== b[i]) return false;
  return a.length >= b.length && a[b.length - 1] >= b[b.length - 1];
}

function add(r: Run, e: Event, kind: string, name: string): Step {
  let s = r.byPath.get(e.path!);
  if (!s) {
    s = { path: e.path!, kind, name, text: "", began: Date.parse(e.time), tries: [], live: "", thinking: "", seq: e.seq };
    const open = r.open.filter((o) => o.path !== e.path && after(e.path!, o.path));
    s.within = open.sort((x, y) => y.path.split(".").length - x.path.split(".").length || y.step.began - x.step.began)[0]?.path;
    r.steps.push(s);
    r.byPath.set(e.path!, s);
  }
  return s;
}

// tell adds an event to a run.
export function tell(r: Run, e: Event): void {
  const at = Date.parse(e.time), data = e.data ?? {};
  if (e.kind !== "delta") r.ended = at;
  switch (e.kind) {
    case "job.started": r.began ??= at; r.steps.forEach((s) => { if (s.kind === "await" && s.path.startsWith("queue")) s.ended ??= at; }); r.status = "running"; r.reason = undefined; r.final = undefined; return;
    case "job.queued": r.began ??= at; r.status = "queued"; if (!r.steps.some((s) => s.path.startsWith("queue") && !s.ended)) add(r, { ...e, path: "queue" + e.seq }, "await", "a place"); return;
    case "job.waiting": case "job.finished": r.status = data.status; r.reason = data.reason; r.final = data; return;
    case "note": if (e.text) r.notes.push(e); if (e.path && e.error) add(r, e, "note", e.text ?? "").ended = at; return;
    case "step.started": case "approval": {
      if (hides.has(e.step ?? "")) return;
      const s = add(r, e, e.kind === "approval" ? "await" : e.step!, e.name ?? "");
      if (s.ended && s.recalled === undefined && e.kind === "step.started") { s.tries.push({ at: s.ended, why: s.error }); s.ended = undefined; s.error = undefined; }
      s.live = ""; s.thinking = "";
      if (e.kind === "approval") s.data = data;
      return;
    }
    case "step.retried": { const s = e.path && r.byPath.get(e.path); if (s) s.tries.push({ at, why: e.error ?? e.text }); return; }
    case "delta": {
      const s = e.path && r.byPath.get(e.path);
      if (!s || s.ended) return;
      s.first ??= at;
      if (data.thinking) s.thinking += e.text ?? "";
      else if (!data.command) s.live += e.text ?? "";
      return;
    }
    case "step.finished": {
      if (hides.has(e.step ?? "") || !e.path) return;
      const said = e.step === "await" && e.name === "message" && data.value?.text;
      const s = add(r, e, said ? "said" : e.step!, e.name ?? "");
      s.ended = at;
      if (said) { s.text = said; return; }
      s.text = e.text ?? ""; s.error = e.error;
      s.data = s.kind === "await" ? { ...s.data, answer: data } : data;
      if (s.kind === "model" && !e.error) {
        const agent = s.within && r.byPath.get(s.within)?.kind === "agent";
        if (!agent) s.turn = ++r.turns;
      }
      return;
    }
    case "answer": { const s = e.path && r.byPath.get(e.path); if (s) s.data = { ...s.data, said: { name: e.name, by: data.by, value: data.value } }; return; }
    case "agent.started": case "pipeline.step.started": {
      const s = add(r, e, e.kind === "agent.started" ? "agent" : "part", e.name ?? e.text ?? "");
      s.data = data; s.text = e.kind === "agent.started" ? e.text ?? "" : "";
      r.open.push({ path: e.path!, step: s });
      return;
    }
    case "agent.finished": case "pipeline.step.finished": {
      const name = e.kind === "agent.finished" ? e.name : e.text;
      for (let i = r.open.length - 1; i >= 0; i--) {
        const s = r.open[i].step;
        if (s.name !== name && s.path !== e.path || s.path.split(".").length !== e.path!.split(".").length) continue;
        s.ended = at; s.data = { ...s.data, ...data }; s.text = e.kind === "agent.finished" ? e.text ?? "" : data.reason ?? "";
        if (data.status && !["done", "answered", "planned", "not_needed", "skipped"].includes(data.status)) s.error = data.reason ?? data.error ?? data.status;
        r.open.splice(i, 1);
        return;
      }
      return;
    }
  }
}

// shown are the steps that a reader looks at, each part followed by its own: not the look at a call that only led to
// a question.
export function shown(r: Run): Step[] {
  const kids = new Map<string, Step[]>();
  for (const s of r.steps) {
    if ((s.kind === "tool" && s.data?.asks) || (s.kind === "note" && !s.error)) continue;
    const of = s.within ?? "";
    const list = kids.get(of);
    if (list) list.push(s);
    else kids.set(of, [s]);
  }
  const walk = (of: string): Step[] => (kids.get(of) ?? []).flatMap((s) => [s, ...walk(s.path)]);
  return walk("");
}
export const failed = (s: Step) => Boolean(s.error || s.data?.failed || s.data?.refused);
export const title = (s: Step) => (s.kind === "await" ? "waits for " + [...new Set(s.name.split("|").map((n) => n.split("@")[0]))].join(" or ") : s.kind === "model" ? "answer" : s.name || s.kind);
export const depth = (r: Run, s: Step): number => { let n = 0; for (let p = s.within; p && n < 8; p = r.byPath.get(p)?.within) n++; return n; };
