import { Document, isCollection, isMap, isNode, isPair, isScalar, isSeq, LineCounter, parseDocument, Scalar, visit, YAMLMap, YAMLSeq, type Node, type Pair } from "yaml";

// A pipeline is the text of its file. Each edit reads the text, changes the document and writes it again, so that
// comments, order and style stay.
type Doc = Document<Node, boolean>;
export type Path = (string | number)[];
export const kinds = ["agent", "run", "tool", "check", "await", "pipeline", "parallel"];
export type Map = YAMLMap<Node, Node | null>;
export interface Text { doc: Doc; lines: LineCounter; fault?: { line: number; message: string } }
export interface Item { path: Path; key: string; depth: number; id: string; kind: string; note: string; map?: Map; range: [number, number] }

export function read(text: string): Text {
  const lines = new LineCounter(), doc = parseDocument(text, { lineCounter: lines, uniqueKeys: true }) as Doc;
  const e = doc.errors[0];
  const fault = e ? { line: lines.linePos(e.pos[0]).line, message: e.message.split("\n")[0].replace(/ at line \d+, column \d+:?$/, "") } : doc.contents && !isMap(doc.contents) ? { line: 1, message: "A pipeline is a mapping with steps" } : undefined;
  if (!fault) settle(text, doc, lines);
  return { doc, lines, fault };
}

// settle gives comments to what they stand at: above the first step to that step, and left of the last one to the document.
function settle(text: string, doc: Doc, lines: LineCounter) {
  const steps = doc.get("steps");
  if (!isSeq(steps) || steps.flow) return;
  const first = steps.items[0], last = steps.items.at(-1);
  if (isNode(first) && steps.commentBefore) { first.commentBefore = [steps.commentBefore, first.commentBefore].filter(Boolean).join("\n"); steps.commentBefore = null; }
  if (!isMap(last) || !last.range || !last.comment) return;
  const column = lines.linePos(last.range[0]).col - 1, after = text.slice(last.range[1], last.range[2]).split("\n").filter((l) => /^\s*#/.test(l));
  const outer = after.findIndex((l) => l.search(/#/) < column);
  if (outer < 0) return;
  const all = last.comment.split("\n"), from = all.length - (after.length - outer);
  last.comment = all.slice(0, from).join("\n").replace(/\n+$/, "") || null;
  doc.comment = [all.slice(from).join("\n"), doc.comment].filter(Boolean).join("\n").replace(/^\n+/, "");
}

// write is the text of a document, indented as it was.
function write(doc: Doc, was: string): string {
  return doc.toString({ lineWidth: 0, indent: /^ {4}\S/m.test(was) && !/^ {2}\S/m.test(was) ? 4 : 2, indentSeq: !/^steps:[^\n]*\n(\s*(#[^\n]*)?\n)*- /m.test(was), flowCollectionPadding: /\{ \S/.test(was) });
}

const named = (p: Pair) => (isScalar(p.key) ? String(p.key.value) : String(p.key));
const find = (m: Map, key: string) => m.items.find((p) => named(p) === key);
const scalar = (m: Map | undefined, key: string) => { const v = m?.get(key); return isCollection(v) || v === undefined || v === null ? "" : String(v); };

// items are the steps in order, those of a group behind it.
export function items(t: Text): Item[] {
  const out: Item[] = [];
  const walk = (seq: unknown, path: Path, depth: number) => {
    if (!isSeq(seq)) return;
    seq.items.forEach((n, i) => {
      const map = isMap(n) ? (n as Map) : undefined, at = [...path, i], kind = kinds.find((k) => map?.has(k)) ?? "";
      const value = kind ? map!.get(kind, true) : undefined;
      const note = isScalar(value) ? String(value.value ?? "").split("\n")[0] : isMap(value) ? scalar(value as Map, "signal") || scalar(value as Map, "run") || scalar(value as Map, "tool") || "written out" : isSeq(value) ? `${(value as YAMLSeq).items.length} at once` : "";
      const r = (isNode(n) && n.range) || [0, 0, 0];
      out.push({ path: at, key: at.join("."), depth, id: scalar(map, "id"), kind, note, map, range: [r[0], r[2]] });
      if (map?.has("parallel")) walk(map.get("parallel"), [...at, "parallel"], depth + 1);
    });
  };
  if (!t.fault) walk(t.doc.get("steps"), ["steps"], 0);
  return out;
}

// value is what a field has: a text, number or list as it is, else YAML.
export function value(t: Text, path: Path): { as: "none" | "plain" | "list" | "yaml"; value: string } {
  const n = t.doc.getIn(path, true);
  if (n === undefined || n === null) return { as: "none", value: "" };
  if (isScalar(n)) return { as: "plain", value: n.value === null ? "" : String(n.value) };
  if (isSeq(n) && n.items.every((x) => isScalar(x))) return { as: "list", value: n.items.map((x) => String((x as Scalar).value)).join(", ") };
  return { as: "yaml", value: fragment(n as Node) };
}

function fragment(n: Node): string {
  const d = new Document();
  d.contents = n.clone() as never;
  return d.toString({ lineWidth: 0, flowCollectionPadding: false }).trimEnd();
}

function edit(text: string, f: (doc: Doc) => void): string {
  const t = read(text);
  if (t.fault) throw new Error(t.fault.message);
  f(t.doc);
  return write(t.doc, text);
}

// gather has the comments at a node or a pair and in it.
function gather(n: unknown, words: string[] = []): string[] {
  if (isPair(n)) return gather(n.value, gather(n.key, words));
  if (!isNode(n)) return words;
  if (n.commentBefore) words.push(n.commentBefore);
  if (isCollection(n)) n.items.forEach((x) => gather(x, words));
  if (n.comment) words.push(n.comment);
  return words;
}

// within are the comments of a step, which go with it.
export const within = (t: Text, path: Path): string[] => gather(t.doc.getIn(path, true)).flatMap((c) => c.split("\n")).map((l) => l.trim()).filter(Boolean);

// keep has what comes after take the comments of a pair that goes.
function keep(m: Map, p: Pair, doc: Doc) {
  const words = gather(p);
  if (!words.length) return;
  const next = m.items[m.items.indexOf(p as (typeof m.items)[0]) + 1], key = next?.key;
  if (m.flow) doc.comment = [...words, doc.comment].filter(Boolean).join("\n");
  else if (isNode(key)) (key as Scalar).commentBefore = [...words, (key as Scalar).commentBefore].filter(Boolean).join("\n");
  else m.comment = [...words, m.comment].filter(Boolean).join("\n");
}

// set gives a field a value; without one the field goes, and its comments stay.
export function set(text: string, path: Path, v: unknown): string {
  return edit(text, (doc) => {
    const key = String(path.at(-1)), at = path.slice(0, -1);
    if (!isMap(doc.contents)) doc.contents = doc.createNode({}) as never;
    let m = (at.length ? doc.getIn(at, true) : doc.contents) as Map | undefined;
    if (!isMap(m)) {
      if (v === undefined) return;
      doc.setIn(at, doc.createNode({}));
      m = doc.getIn(at, true) as Map;
    }
    const p = find(m, key);
    if (v === undefined || v === "") {
      if (!p) return;
      keep(m, p, doc);
      m.items.splice(m.items.indexOf(p), 1);
      if (!m.items.length && typeof at.at(-1) === "string" && !gather(m).length) doc.deleteIn(at);
      return;
    }
    put(doc, m, key, v);
  });
}

function put(doc: Doc, m: Map, key: string, v: unknown) {
  const p = find(m, key), long = typeof v === "string" && v.includes("\n");
  if (p && isScalar(p.value) && typeof v !== "object") {
    const was = p.value;
    was.value = v;
    delete (was as { source?: string }).source;
    if (long !== /^BLOCK/.test(was.type ?? "") || typeof v !== "string") was.type = long && !m.flow ? Scalar.BLOCK_LITERAL : undefined;
    return;
  }
  const n = isNode(v) ? v : (doc.createNode(v) as Node);
  if (long && !m.flow && isScalar(n)) n.type = Scalar.BLOCK_LITERAL;
  if (isSeq(n) && !isNode(v) && n.items.every((x) => isScalar(x))) n.flow = true;
  if (!p) { m.set(doc.createNode(key) as Node, n); return; }
  const was = p.value;
  if (isSeq(was) && isSeq(n)) { // with the comments of what stays
    n.flow = was.flow;
    n.items = n.items.map((x) => was.items.find((y) => isScalar(x) && isScalar(y) && x.value === y.value) ?? x);
    const gone = was.items.filter((y) => !n.items.includes(y)).flatMap((y) => (isNode(y) ? [y.commentBefore, y.comment] : [])).filter(Boolean) as string[];
    if (gone.length) (p.key as Scalar).commentBefore = [(p.key as Scalar).commentBefore, ...gone].filter(Boolean).join("\n");
  }
  if (was && !isNode(v)) { n.commentBefore ??= was.commentBefore; n.comment ??= was.comment; }
  p.value = n;
}

// setYAML gives a field what a text in YAML has, with its comments.
export function setYAML(text: string, path: Path, source: string): string {
  if (!source.trim()) return set(text, path, undefined);
  const d = parseDocument(source);
  if (d.errors.length) throw new Error(d.errors[0].message.split("\n")[0]);
  const n = d.contents as Node | null;
  if (n && d.comment) n.comment = [n.comment, d.comment].filter(Boolean).join("\n");
  if (n && d.commentBefore) n.commentBefore = [d.commentBefore, n.commentBefore].filter(Boolean).join("\n");
  return set(text, path, n && isScalar(n) ? n.value : n ?? undefined);
}

// typed is the value that a text means, as YAML reads it: 3, true, or the text.
export const typed = (s: string): unknown => { const d = parseDocument(s); return d.errors.length || isCollection(d.contents) ? s : d.toJS(); };

const beginnings: Record<string, unknown> = { agent: "builder", run: "make test", tool: "list_files", check: { run: "make test" }, await: { signal: "go", question: "Go on?" }, pipeline: "feature", parallel: [] };

export function freeID(t: Text, want: string): string {
  const taken = new Set(items(t).map((i) => i.id)), base = want.replace(/_\d+$/, "") || "step";
  if (want && !taken.has(want)) return want;
  for (let n = 2; ; n++) if (!taken.has(`${base}_${n}`)) return `${base}_${n}`;
}

// setKind makes a step one of another kind, in the place of what it was.
export function setKind(text: string, path: Path, kind: string): string {
  return edit(text, (doc) => {
    const m = doc.getIn(path, true) as Map, [was, ...more] = m.items.filter((p) => kinds.includes(named(p)));
    for (const p of more) { keep(m, p, doc); m.items.splice(m.items.indexOf(p), 1); }
    const begin = kind === "parallel" ? [{ id: freeID({ doc, lines: new LineCounter() }, "part"), run: "true" }] : beginnings[kind];
    const p = doc.createPair(kind, begin) as Pair<Node, Node>;
    if (!was) { m.items.push(p); return; }
    keep(m, was, doc);
    m.items.splice(m.items.indexOf(was as (typeof m.items)[0]), 1, p);
  });
}

// add puts a new step after the one at path, or into a group or the empty list.
export function add(text: string, after: Path | undefined, kind = "run"): [string, Path] {
  let at: Path = [];
  const out = edit(text, (doc) => {
    if (!isMap(doc.contents)) doc.contents = doc.createNode({}) as never;
    const list = after ? after.slice(0, -1) : ["steps"];
    let seq = doc.getIn(list, true) as YAMLSeq | undefined;
    if (!isSeq(seq)) { doc.setIn(list, doc.createNode([])); seq = doc.getIn(list, true) as YAMLSeq; }
    if (!seq.items.length) seq.flow = false;
    const i = after ? Number(after.at(-1)) + 1 : seq.items.length;
    const n = doc.createNode({ id: freeID({ doc, lines: new LineCounter() }, "step"), [kind]: beginnings[kind] }) as Node;
    if (i > 1 && seq.items.slice(1).every((x) => isNode(x) && x.spaceBefore)) n.spaceBefore = true;
    seq.items.splice(i, 0, n);
    at = [...list, i];
  });
  return [out, at];
}

// copy puts a copy of a step after it, under names of its own.
export function copy(text: string, path: Path): [string, Path] {
  const i = Number(path.at(-1)) + 1, list = path.slice(0, -1);
  return [edit(text, (doc) => {
    const seq = doc.getIn(list, true) as YAMLSeq, n = (doc.getIn(path, true) as Node).clone() as Node, t = { doc, lines: new LineCounter() };
    const taken = new Set(items(t).map((x) => x.id));
    visit(n, { Pair(_, p) {
      if (named(p) !== "id" || !isScalar(p.value)) return;
      let to = freeID(t, String(p.value.value));
      while (taken.has(to)) to = to.replace(/(\d+)$/, (d) => String(Number(d) + 1));
      taken.add(to);
      p.value.value = to;
      delete (p.value as { source?: string }).source;
    } });
    seq.items.splice(i, 0, n);
  }), [...list, i]];
}

// remove takes a step out, with the comments at it and in it; what stands behind the last step stays.
export function remove(text: string, path: Path): string {
  return edit(text, (doc) => {
    const seq = doc.getIn(path.slice(0, -1), true) as YAMLSeq;
    seq.items.splice(Number(path.at(-1)), 1);
    if (!seq.items.length) seq.flow = true;
    else if (Number(path.at(-1)) === 0 && isNode(seq.items[0])) (seq.items[0] as Node).spaceBefore = false;
  });
}

// move has a step change places with the one before or after it in its list.
export function move(text: string, path: Path, by: -1 | 1): [string, Path] {
  const i = Number(path.at(-1)), to = i + by, list = path.slice(0, -1);
  let moved = false;
  const out = edit(text, (doc) => {
    const seq = doc.getIn(list, true) as YAMLSeq;
    if (to < 0 || to >= seq.items.length) return;
    moved = true;
    const [a, b] = [seq.items[Math.min(i, to)] as Node, seq.items[Math.max(i, to)] as Node];
    if (!seq.flow && seq.commentBefore) { a.commentBefore = [seq.commentBefore, a.commentBefore].filter(Boolean).join("\n"); seq.commentBefore = null; }
    [a.spaceBefore, b.spaceBefore] = [b.spaceBefore, a.spaceBefore];
    seq.items[Math.min(i, to)] = b;
    seq.items[Math.max(i, to)] = a;
  });
  return moved ? [out, [...list, to]] : [text, path];
}

// rename gives a step another id, also where others name it.
export function rename(text: string, path: Path, id: string): string {
  return edit(text, (doc) => {
    const m = doc.getIn(path, true) as Map, was = scalar(m, "id"), others = items({ doc, lines: new LineCounter() }).filter((x) => x.id === was);
    put(doc, m, "id", id);
    if (!was || others.length > 1) return;
    const into = (s: unknown, f: (v: string) => string) => {
      if (!isScalar(s) || typeof s.value !== "string" || f(s.value) === s.value) return;
      s.value = f(s.value);
      delete (s as { source?: string }).source;
    };
    const same = (v: string) => (v === was ? id : v);
    visit(doc, {
      Pair(_, p) {
        const key = named(p);
        if (["onSuccess", "onFailure", "step"].includes(key)) into(p.value, same);
        if (key === "needs" && isSeq(p.value)) p.value.items.forEach((x) => into(x, same));
      },
      Scalar(_, s) { into(s, (v) => v.replaceAll(new RegExp(`(\\{\\{\\s*steps\\.)${was.replace(/[^\w-]/g, "")}(?=[.}\\s])`, "g"), `$1${id}`)); },
    });
  });
}

// place is the step, and the field of it or of the pipeline, that a line and a column of the text are in.
export function place(t: Text, line = 1, col = 1): { item?: Item; field?: string } {
  const offset = (t.lines.lineStarts[line - 1] ?? 0) + col - 1;
  const item = items(t).findLast((i) => i.range[0] <= offset && offset < Math.max(i.range[1], i.range[0] + 1));
  const m = item ? item.map : isMap(t.doc.contents) ? (t.doc.contents as Map) : undefined;
  const p = m?.items.findLast((q) => isNode(q.key) && q.key.range && q.key.range[0] <= offset && offset < (isNode(q.value) && q.value.range ? Math.max(q.value.range[1], q.key.range[1] + 1) : q.key.range[2] + 1));
  return { item, field: p && offset > (item?.range[0] ?? -1) ? named(p) : undefined };
}

// comments are all of a text, sorted, for those who check that none is lost.
export function comments(text: string): string[] {
  const doc = parseDocument(text), out: string[] = [];
  const add = (c?: string | null) => { for (const l of c?.split("\n") ?? []) if (l.trim()) out.push(l.trim()); };
  add(doc.commentBefore); add(doc.comment);
  visit(doc, { Node(_, n) { add(n.commentBefore); add(n.comment); } });
  return out.sort();
}
