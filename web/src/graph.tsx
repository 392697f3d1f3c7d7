import * as dagre from "@dagrejs/dagre";
import { useState } from "react";
import { useCall } from "./api";
import { failed, shown, type Run, type Step } from "./steps";
import { Empty, kindOf, took, visible } from "./text";
import type { Detail } from "./types";

interface Declared { id: string; name?: string; agent?: unknown; run?: string; await?: unknown; parallel?: Declared[]; steps?: Declared[]; onSuccess?: string; onFailure?: string; when?: unknown }
interface Node { id: string; label: string; note: string; status: string }
interface Edge { from: string; to: string; label?: string }

const kind = (s: Declared) => s.parallel ? "at the same time" : s.await ? "waits for a person" : s.run ? "command" : typeof s.agent === "string" ? s.agent : s.agent ? "agent" : "step";

// declared is a pipeline as its file has it, with how far its steps have come.
function declared(steps: Declared[], run?: Run): [Node[], Edge[]] {
  const nodes: Node[] = [], edges: Edge[] = [], ids = new Set(steps.map((s) => s.id));
  const state = (id: string) => { if (!run) return "pending"; const s = run.steps.findLast((x) => x.kind === "part" && x.name === id); return s ? s.data?.status ?? (s.ended ? "done" : run.status === "waiting" ? "waiting" : "running") : "pending"; };
  let before: string[] = [];
  steps.forEach((s, i) => {
    const kids = s.parallel ?? [];
    nodes.push({ id: s.id, label: s.name ?? s.id, note: kind(s), status: state(s.id) });
    before.forEach((b) => edges.push({ from: b, to: s.id }));
    kids.forEach((k) => { nodes.push({ id: k.id, label: k.name ?? k.id, note: kind(k), status: state(k.id) }); edges.push({ from: s.id, to: k.id }); });
    before = kids.length ? kids.map((k) => k.id) : [s.id];
    const next = steps[i + 1]?.id;
    if (s.onSuccess && s.onSuccess !== next && ids.has(s.onSuccess)) { edges.push({ from: s.id, to: s.onSuccess, label: "done" }); before = before.filter((b) => b !== s.id); }
    if (s.onFailure && ids.has(s.onFailure)) edges.push({ from: s.id, to: s.onFailure, label: "failed" });
  });
  return [nodes, edges];
}

// ran is a job as it ran: parts where there are some, else answers with their calls.
function ran(run: Run, d: Detail): [Node[], Edge[]] {
  const parts = run.steps.filter((s) => s.kind === "part" || s.kind === "agent"), nodes: Node[] = [{ id: "job", label: d.job.agent ?? "job", note: d.job.workflow, status: d.job.status }], edges: Edge[] = [];
  const state = (s: Step) => s.kind === "await" && !s.ended ? "waiting" : failed(s) ? "failed" : s.ended ? s.data?.status ?? "done" : run.status;
  const last = new Map<string, Step[]>();
  for (const s of (parts.length ? parts : shown(run).filter((x) => x.kind !== "note" && x.kind !== "said")).slice(0, 120)) {
    nodes.push({ id: s.path, label: s.kind === "model" ? "answer" : s.kind === "await" ? "question" : s.name, note: s.ended ? took(s.ended - s.began) : "…", status: state(s) });
    const key = s.within ?? "", peers = last.get(key) ?? [], before = peers.filter((p) => p.ended && p.ended <= s.began && !peers.some((q) => q.began >= p.ended! && q.ended && q.ended <= s.began));
    if (before.length) before.forEach((p) => edges.push({ from: p.path, to: s.path }));
    else edges.push({ from: s.within && parts.some((p) => p.path === s.within) ? s.within : "job", to: s.path });
    last.set(key, [...peers, s]);
  }
  return [nodes, edges];
}

export default function Graph({ run, d }: { run: Run; d: Detail }) {
  const name = d.job.workflow === "pipeline" ? d.job.input?.pipeline ?? d.job.agent : undefined;
  const p = useCall<{ steps: Declared[] }>(name ? "pipelines/show" : null, { name, dir: d.job.dir });
  const [as, setAs] = useState("ran"), both = p.data?.steps;
  const [nodes, edges] = both && as === "declared" ? declared(both, run) : ran(run, d);
  if (!run.steps.length && !both) return <Empty>No step yet.</Empty>;
  return <>
    {both && <div className="chips" role="group" aria-label="Which graph"><button aria-pressed={as === "ran"} onClick={() => setAs("ran")}>As it ran</button><button aria-pressed={as === "declared"} onClick={() => setAs("declared")}>As declared</button></div>}
    <Drawing nodes={nodes} edges={edges} />
  </>;
}

// Declaration is a pipeline as its text has it; a step is picked by its node.
export function Declaration({ steps, picked, pick }: { steps?: Declared[]; picked?: string; pick: (id: string) => void }) {
  const whole = (Array.isArray(steps) ? steps : []).filter((s) => s?.id).map((s) => ({ ...s, parallel: Array.isArray(s.parallel) ? s.parallel.filter((k) => k?.id) : undefined }));
  if (!whole.length) return <Empty>No step to draw.</Empty>;
  const [nodes, edges] = declared(whole);
  return <Drawing nodes={nodes} edges={edges} picked={picked} pick={pick} />;
}

function Drawing({ nodes, edges, picked, pick }: { nodes: Node[]; edges: Edge[]; picked?: string; pick?: (id: string) => void }) {
  const g = new dagre.graphlib.Graph({ multigraph: true });
  g.setGraph({ rankdir: pick || nodes.length > 24 || innerWidth < 700 ? "TB" : "LR", nodesep: 22, ranksep: 44, marginx: 8, marginy: 8 });
  g.setDefaultEdgeLabel(() => ({}));
  for (const n of nodes) g.setNode(n.id, { width: Math.max(110, Math.max(n.label.length, n.note.length) * 7.4 + 36), height: 46 });
  edges.forEach((e, i) => g.setEdge(e.from, e.to, {}, String(i)));
  dagre.layout(g);
  const drawn = edges.flatMap((e, i) => g.edge({ v: e.from, w: e.to, name: String(i) }).points as { x: number; y: number }[]), all = g.graph();
  const width = Math.max(all.width ?? 100, ...drawn.map((p) => p.x + 8)), height = Math.max(all.height ?? 100, ...drawn.map((p) => p.y + 8));
  return <div className="graph" tabIndex={0} role="group" aria-label="Graph">
    <svg width={width} height={height} viewBox={`0 0 ${width} ${height}`} role={pick ? "group" : "img"} aria-label={pick ? "Steps" : nodes.map((n) => `${n.label}: ${n.status}`).join(", ")}>
      <defs><marker id="tip" viewBox="0 0 8 8" refX="7" refY="4" markerWidth="7" markerHeight="7" orient="auto-start-reverse"><path d="M0 0 8 4 0 8z" /></marker></defs>
      {edges.map((e, i) => {
        const pts = g.edge({ v: e.from, w: e.to, name: String(i) }).points as { x: number; y: number }[], mid = pts[Math.floor(pts.length / 2)];
        return <g key={i} className={"edge " + (e.label ?? "")}><path d={"M" + pts.map((p) => `${p.x.toFixed(1)} ${p.y.toFixed(1)}`).join("L")} markerEnd="url(#tip)" />{e.label && <text x={mid.x} y={mid.y - 5}>{e.label}</text>}</g>;
      })}
      {nodes.map((n) => {
        const at = g.node(n.id);
        const chosen = pick && { role: "button", tabIndex: 0, "aria-pressed": n.id === picked, onClick: () => pick(n.id), onKeyDown: (e: React.KeyboardEvent) => { if (e.key === "Enter" || e.key === " ") { e.preventDefault(); pick(n.id); } } };
        return <g key={n.id} {...chosen} className={"node " + kindOf(n.status) + (n.id === picked ? " picked" : "")} transform={`translate(${at.x - at.width / 2} ${at.y - at.height / 2})`}><rect width={at.width} height={at.height} rx="9" /><circle cx="16" cy="16" r="4.5" /><text x="28" y="20">{visible(n.label)}</text><text className="note" x="28" y="36">{visible(n.note)}</text></g>;
      })}
    </svg>
  </div>;
}
