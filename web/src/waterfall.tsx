import { useEffect, useReducer, useState } from "react";
import { depth, failed, shown, title, type Run, type Step } from "./steps";
import { Empty, took, visible } from "./text";

interface Row { label: string; steps: Step[]; deep: number }

// rows folds steps of one kind that follow each other, unless they failed.
function rows(run: Run): Row[] {
  const out: Row[] = [];
  for (const s of shown(run)) {
    const last = out.at(-1), deep = depth(run, s), plain = s.kind === "tool" && !failed(s) && !s.tries.length;
    if (plain && last && last.deep === deep && last.steps[0].kind === "tool" && last.steps[0].name === s.name && last.steps[0].within === s.within && !failed(last.steps[0])) last.steps.push(s);
    else out.push({ label: title(s), steps: [s], deep });
  }
  return out;
}

// A Scale folds the time in which nothing ran.
function scale(run: Run, from: number, to: number) {
  const busy: [number, number][] = [];
  for (const s of [...shown(run)].filter((s) => s.kind !== "await" && s.kind !== "part" && s.kind !== "agent").sort((a, b) => a.began - b.began)) {
    const end = s.ended ?? to, last = busy.at(-1);
    if (last && s.began <= last[1]) last[1] = Math.max(last[1], end);
    else busy.push([s.began, end]);
  }
  const work = busy.reduce((n, [a, b]) => n + b - a, 0) || 1, bits: { at: number; long: number; drawn: number; gap: boolean }[] = [];
  let at = from;
  const put = (until: number, gap: boolean) => {
    if (until <= at) return;
    const long = until - at, fold = gap && long > 1000 && long > work / 4;
    bits.push({ at, long, drawn: fold ? work / 12 : long, gap: fold });
    at = until;
  };
  for (const [a, b] of busy) { put(a, true); put(b, false); }
  put(to, true);
  const all = bits.reduce((n, b) => n + b.drawn, 0) || 1;
  let x = 0;
  const marks = bits.map((b) => { const m = { ...b, x: x / all, w: b.drawn / all }; x += b.drawn; return m; });
  return { marks, of: (t: number) => { const m = marks.findLast((b) => b.at <= t) ?? marks[0]; return m ? Math.min(1, m.x + (m.w * Math.min(t - m.at, m.long)) / m.long) : 0; } };
}

export default function Waterfall({ run, status }: { run: Run; status: string }) {
  const [, tick] = useReducer((n: number) => n + 1, 0), [fold, setFold] = useState(true), live = status === "running" || status === "waiting";
  useEffect(() => { if (live) { const t = setInterval(tick, 500); return () => clearInterval(t); } }, [live]);
  const list = rows(run);
  if (!run.began || !list.length) return <Empty>No step yet.</Empty>;
  const to = live ? Date.now() : Math.max(run.ended ?? 0, ...run.steps.map((s) => s.ended ?? 0)), s = scale(run, run.began, to);
  const of = fold ? s.of : (t: number) => (t - run.began!) / (to - run.began! || 1);
  const pct = (n: number) => `${(n * 100).toFixed(3)}%`, gaps = s.marks.filter((m) => m.gap);
  return <>
    <div className="legend"><span><i className="bar run" />running</span><span><i className="bar wait" />waiting for a person</span><span><i className="bar bad" />failed</span>
      {gaps.length > 0 && <label className="check"><input type="checkbox" checked={fold} onChange={(e) => setFold(e.target.checked)} /> fold what is idle</label>}<span>{took(to - run.began)} in all</span></div>
    <ol className="waterfall">{list.map((r, i) => {
      const long = r.steps.reduce((n, x) => n + (x.ended ?? to) - x.began, 0), end = of(Math.max(...r.steps.map((x) => x.ended ?? to)));
      return <li key={i}>
        <a className="label" style={{ paddingInlineStart: r.deep * 12 }} href="#step" onClick={(e) => { e.preventDefault(); document.getElementById("tab-steps")?.click(); setTimeout(() => { const el = document.getElementById("step-" + r.steps[0].path) as HTMLDetailsElement | null; if (el) { el.open = true; el.scrollIntoView({ block: "center" }); el.querySelector("summary")?.focus(); } }, 50); }}>
          {visible(r.label)}{r.steps.length > 1 && <small> × {r.steps.length}</small>}<span className="hidden">, {took(long)}{r.steps.some(failed) ? ", failed" : ""}</span></a>
        <div className="track" aria-hidden="true">
          {fold && gaps.map((g, k) => <span key={k} className="gap" title={took(g.long) + " idle"} style={{ left: pct(g.x), width: pct(g.w) }} />)}
          {r.steps.flatMap((x) => {
            const ends = [...x.tries.map((t) => t.at), x.ended ?? to];
            return ends.map((end, k) => {
              const a = of(k ? ends[k - 1] : x.began), b = of(end), bad = k < ends.length - 1 || failed(x);
              return <span key={x.path + k} className={"bar " + (x.kind === "await" ? "wait" : bad ? "bad" : x.kind === "agent" || x.kind === "part" ? "part" : x.kind === "model" ? "model" : "run") + (x.ended ? "" : " open")} style={{ left: pct(a), width: `max(3px, ${pct(b - a)})` }} />;
            });
          })}
          <span className="long" style={end > 0.82 ? { right: pct(1 - of(r.steps[0].began)), paddingInlineEnd: 6 } : { left: pct(end), paddingInlineStart: 6 }}>{took(long)}</span>
        </div>
      </li>;
    })}</ol>
  </>;
}
