import { Fragment, lazy, Suspense, useState, type ReactNode } from "react";
import type { Job } from "./types";

// visible shows what a reader would not see: control characters, and those that turn or hide text.
export function visible(s: string): string {
  return s.replace(/[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u00ad\u061c\u115f\u1160\u180e\u200b-\u200f\u2028-\u202e\u2060-\u2069\u3164\ufeff\uffa0]|[\u{e0000}-\u{e007f}]/gu,
    (c) => "\\u{" + c.codePointAt(0)!.toString(16) + "}");
}

// mixed are words with letters of several alphabets, which may look like others.
export function mixed(s: string): string[] {
  const scripts = [/\p{Script=Latin}/u, /\p{Script=Cyrillic}/u, /\p{Script=Greek}/u];
  return (s.match(/[\p{L}\p{M}\p{N}_.-]+/gu) ?? []).filter((w) => scripts.filter((r) => r.test(w)).length > 1);
}

export function ago(t?: string): string {
  if (!t) return "";
  const s = Math.max(0, (Date.now() - Date.parse(t)) / 1000);
  return s < 60 ? "just now" : s < 3600 ? `${Math.floor(s / 60)} min ago` : s < 86400 ? `${Math.floor(s / 3600)} h ago` : `${Math.floor(s / 86400)} d ago`;
}

export function took(ms: number): string {
  if (!isFinite(ms) || ms < 0) return "";
  if (ms < 1000) return `${Math.round(ms)} ms`;
  const s = ms / 1000;
  if (s < 60) return `${s.toFixed(s < 10 ? 1 : 0)} s`;
  if (s < 3600) return `${Math.floor(s / 60)} min ${Math.round(s % 60)} s`;
  return `${Math.floor(s / 3600)} h ${Math.round((s % 3600) / 60)} min`;
}

export const count = (n = 0) => (n < 1000 ? String(n) : n < 1e6 ? (n / 1e3).toFixed(n < 1e4 ? 1 : 0) + "k" : (n / 1e6).toFixed(1) + "M");
export const cost = (n = 0) => (n === 0 ? "" : n < 0.01 ? "$" + n.toFixed(4) : "$" + n.toFixed(2));
export const words = (status: string) => (status === "not_needed_unproven" ? "not needed, unproven" : status.replaceAll("_", " "));
// sentence begins with a capital, unless its first word is a name of a file or a command with a mark in it.
export const sentence = (s: string) => (/^\p{Ll}+[ ,]/u.test(s) ? s[0].toUpperCase() + s.slice(1) : s);
export const plural = (n: number, one: string) => `${n} ${one}${n === 1 ? "" : "s"}`;

// called is what a job is called: its title, else what it was given.
export function called(j: Job): string {
  const first = Object.values(j.input?.inputs ?? {}).find((v) => typeof v === "string") as string | undefined;
  return visible(j.title || first?.split("\n")[0].slice(0, 120) || j.agent || j.id);
}

// kindOf is how a status looks.
export function kindOf(status: string): "good" | "bad" | "wait" | "run" | "calm" {
  if (["done", "answered", "planned", "not_needed"].includes(status)) return "good";
  if (status === "waiting") return "wait";
  if (status === "running") return "run";
  if (["queued", "cancelled", "interrupted", "skipped", "pending"].includes(status)) return "calm";
  return "bad";
}

export function Status({ of }: { of: string }) {
  const mark = { good: "✓", bad: "✗", wait: "?", run: "●", calm: "○" }[kindOf(of)];
  return <span className={"status " + kindOf(of)}><i aria-hidden="true">{mark}</i>{words(of)}</span>;
}

const Rich = lazy(() => import("./rich").then((m) => ({ default: m.Markdown })));
const Ansi = lazy(() => import("./rich").then((m) => ({ default: m.Terminal })));
const Painted = lazy(() => import("./code").then((m) => ({ default: m.Code })));

export const Markdown = ({ text }: { text: string }) => <Suspense fallback={<p className="plain">{visible(text)}</p>}><Rich text={text} /></Suspense>;
export const Terminal = ({ text, label }: { text: string; label?: string }) => (
  <Suspense fallback={<pre className="term" tabIndex={0} role="group" aria-label={label ?? "Output"}>{visible(text)}</pre>}><Ansi text={text} label={label ?? "Output"} /></Suspense>
);
export const Code = ({ text, file, label }: { text: string; file?: string; label?: string }) => (
  <pre className="code" tabIndex={0} role="group" aria-label={label ?? file ?? "Text"}><Suspense fallback={text}><Painted text={text} file={file} /></Suspense></pre>
);

interface Line { mark: string; old?: number; now?: number; text: string }
interface FileDiff { name: string; note: string; lines: Line[]; plus: number; minus: number }

// readDiff reads a unified diff.
export function readDiff(text: string): FileDiff[] {
  const out: FileDiff[] = [];
  let file: FileDiff | undefined, old = 0, now = 0, oldLeft = 0, nowLeft = 0, from = "", known = true, packed = false;
  // A name that git quotes stays quoted.
  const name = (s: string) => s.replace(/\t$/, "").replace(/^("?)[ab]\//, "$1");
  const begin = (name: string) => { packed = false; file = { name, note: "", lines: [], plus: 0, minus: 0 }; out.push(file); };
  for (const line of text.replace(/\n$/, "").split("\n")) {
    const hunk = /^@@ -(\d+)(?:,(\d+))? \+(\d+)(?:,(\d+))? @@(.*)/.exec(line);
    if (file && oldLeft + nowLeft > 0 && /^[-+ ]/.test(line)) {
      const mark = line[0];
      file.lines.push({ mark, text: line.slice(1), old: mark === "+" || !known ? undefined : old, now: mark === "-" || !known ? undefined : now });
      if (mark !== "+") { old++; oldLeft--; }
      if (mark !== "-") { now++; nowLeft--; }
      if (mark === "+") file.plus++;
      if (mark === "-") file.minus++;
    } else if (hunk && file) {
      [old, oldLeft, now, nowLeft] = [+hunk[1], +(hunk[2] ?? 1), +hunk[3], +(hunk[4] ?? 1)];
      known = old + now > 0;
      if (file.lines.length) file.lines.push({ mark: "@", text: hunk[5].trim() });
    } else if (line.startsWith("diff --git ")) {
      begin(/^a\/(.*) b\/\1$/.exec(line.slice(11))?.[1] ?? name(/ ("b\/.*"|b\/.*?)$/.exec(line)?.[1] ?? line));
    } else if (packed || file && /^(GIT binary patch$|Binary files )/.test(line)) {
      if (!packed) file!.note = [file!.note, "binary"].filter(Boolean).join(", ");
      packed = true;
    } else if (line.startsWith("--- ")) {
      from = name(line.slice(4));
      if (!file || file.lines.length) begin(from);
    } else if (line.startsWith("+++ ") && file) {
      const now = name(line.slice(4));
      file.name = now === "/dev/null" ? from : now;
      if (now === "/dev/null") file.note = "deleted";
      if (from === "/dev/null") file.note = "new";
    } else if (file && /^(rename|new file|deleted file|old mode|new mode)/.test(line)) {
      file.note = [file.note, line.replace(/ mode \d+$/, "")].filter(Boolean).join(", ");
    } else if (file && line.startsWith("\\")) {
      file.lines.push({ mark: "\\", text: line.slice(2) });
    } else if (!line.startsWith("index ") && !line.startsWith("similarity ")) {
      if (!file) begin("");
      file!.lines.push({ mark: " ", text: line });
    }
  }
  return out;
}

const Lines = lazy(() => import("./code").then((m) => ({ default: m.Paint })));

// DiffView shows a diff; one that is asked about has no file folded.
export function DiffView({ text, asked }: { text: string; asked?: boolean }) {
  const files = readDiff(text);
  return <div className="diffs">{files.map((f, i) => (
    <details className="diff" key={i} open={asked || files.length < 12 || i < 6}>
      <summary><span className="name">{visible(f.name) || "changes"}</span>{f.note && <span className="note">{visible(f.note)}</span>}
        <span className="plus">+{f.plus}</span><span className="minus">−{f.minus}</span></summary>
      <div className="lines" tabIndex={0} role="group" aria-label={"Changes of " + visible(f.name)}>
        <Rows of={f} all={asked} />
      </div>
    </details>))}
  </div>;
}

// Rows are the lines of a file, of many and of long ones the beginning at first.
function Rows({ of: f, all }: { of: FileDiff; all?: boolean }) {
  const [whole, setWhole] = useState(all), most = whole ? Infinity : 1000, long = f.lines.some((l) => l.text.length > 5000);
  return <>
    <table><tbody>{f.lines.slice(0, most).map((l, k) => {
      const text = visible(whole ? l.text : l.text.slice(0, 5000));
      return <tr key={k} className={{ "+": "added", "-": "taken", "@": "hunk", "\\": "hunk" }[l.mark] ?? ""}>
        <td className="no" aria-hidden="true">{l.old}</td><td className="no" aria-hidden="true">{l.now}</td>
        <td className="mark">{l.mark === "@" ? "⋯" : l.mark === "-" ? "−" : l.mark}</td>
        <td className="text">{l.mark === "@" ? text : <Suspense fallback={text}><Lines text={text} file={f.name} /></Suspense>}</td>
      </tr>;
    })}</tbody></table>
    {!whole && (f.lines.length > most || long) && <button onClick={() => setWhole(true)}>{f.lines.length > most ? `Show all ${f.lines.length} lines` : "Show long lines whole"}</button>}
  </>;
}

// edited is a diff of a text that takes the place of another, somewhere in a file: a hunk at 0 has no line numbers.
export function edited(file: string, old: string, now: string): string {
  const a = old.replace(/\n$/, "").split("\n"), b = now.replace(/\n$/, "").split("\n");
  const x = old === "" ? [] : a, y = now === "" ? [] : b;
  return `--- a/${file}\n+++ b/${file}\n@@ -0,${x.length} +0,${y.length} @@\n` + [...x.map((l) => "-" + l), ...y.map((l) => "+" + l)].join("\n");
}

export function Facts({ of }: { of: [string, ReactNode][] }) {
  return <dl className="facts">{of.filter(([, v]) => v !== undefined && v !== "" && v !== false).map(([k, v]) => <Fragment key={k}><dt>{k}</dt><dd>{v}</dd></Fragment>)}</dl>;
}

export function Problem({ of }: { of?: { message: string; hint?: string } }) {
  return of ? <p className="problem" role="alert"><strong>{visible(of.message)}</strong>{of.hint && <span>{visible(of.hint)}</span>}</p> : null;
}

export function Empty({ children }: { children: ReactNode }) { return <div className="empty">{children}</div>; }

export const json = (v: unknown) => (typeof v === "string" ? v : JSON.stringify(v, null, 2));
