import { useCallback, useEffect, useRef, useState, useSyncExternalStore } from "react";
import type { Detail, Event, Job, Submitted } from "./types";

// A Failure is an error of the interface, with what to do about it.
export class Failure extends Error {
  constructor(message: string, readonly kind: string, readonly hint = "") { super(message); }
}

// call asks a route of the interface. A request with a key adds one job, however often it is sent.
export async function call<T>(route: string, body: unknown = {}, key?: string): Promise<T> {
  const reads = /\/(list|show|artifacts|read|schema|lint|stats|access)$/.test(route); // and answers soon
  let res: Response, text: string;
  try {
    res = await fetch("/v1/" + route, {
      method: "POST", headers: { "Content-Type": "application/json", ...(key && { "Idempotency-Key": key }) }, body: JSON.stringify(body),
      signal: reads ? AbortSignal.timeout(30_000) : undefined,
    });
    text = await res.text();
  } catch {
    setLink("offline");
    throw new Failure("The server does not answer.", "offline", reads ? "" : key ? "Send it again when the server is back; it is done once." : "Look whether it was done before you do it again.");
  }
  setLink(res.status === 401 ? "out" : "online");
  if (!res.ok) {
    let d: { detail?: string; kind?: string; hint?: string } = {};
    try { d = JSON.parse(text); } catch { /* not the interface's */ }
    throw new Failure(d.detail ?? `The server answered ${res.status}.`, d.kind ?? "failed", d.hint);
  }
  return JSON.parse(text);
}

// The link is how the page stands with its server: out is a browser that it does not know any more.
export type Link = "connecting" | "online" | "offline" | "out";
let link: Link = "connecting";
const linkReaders = new Set<() => void>();
function setLink(now: Link) {
  if (now === link) return;
  link = now;
  linkReaders.forEach((f) => f());
}
export const useLink = () => useSyncExternalStore((f) => { linkReaders.add(f); return () => linkReaders.delete(f); }, () => link);

// The access is what this browser may do: all, or what its token has.
interface Access { name: string; scopes: string[]; roots?: string[]; dir?: string }
let access: Access | undefined;
const accessReaders = new Set<() => void>();
export type Scope = "run" | "answer" | "admin";
export const useAccess = () => useSyncExternalStore((f) => { accessReaders.add(f); return () => accessReaders.delete(f); }, () => access);
// useMay reports whether this browser may do something. The server decides; what it would refuse is not offered.
export function useMay(): (scope: Scope) => boolean {
  const a = useAccess();
  return (scope) => !a || a.scopes.includes("admin") || a.scopes.includes(scope);
}
const readAccess = () => call<Access>("access").then((a) => { access = a; accessReaders.forEach((f) => f()); }, () => {});

// follow reads a stream of events until it is stopped, and connects again after the last event that it
// had. A hidden page holds no stream: browsers allow few connections.
export function follow(address: string, on: (e: Event) => void, o: { open?: () => void; end?: () => void; job?: string } = {}): () => void {
  let source: EventSource | undefined, again: number | undefined, last = "", over = false, pause = 300; // ms
  const close = () => { source?.close(); source = undefined; clearTimeout(again); };
  const open = () => {
    close();
    if (over || document.hidden) return;
    source = new EventSource(last ? address.replace(/after=[^&]*/, "after=" + last) : address);
    source.onopen = () => { setLink("online"); o.open?.(); };
    source.onmessage = (m) => { pause = 300; if (m.lastEventId) last = m.lastEventId; on(JSON.parse(m.data)); };
    source.addEventListener("end", () => { over = true; close(); o.end?.(); });
    source.onerror = () => {
      close();
      if (over) return;
      again = window.setTimeout(() => {
        call(o.job ? "jobs/show" : "jobs/list", o.job ? { job: o.job } : { limit: 1 }).then(open, (e: Failure) => {
          if (e.kind === "not_found") over = true;
          else if (!over) again = window.setTimeout(open, pause);
        });
      }, pause);
      pause = Math.min(pause * 2, 15_000);
    };
  };
  document.addEventListener("visibilitychange", open);
  open();
  return () => { over = true; close(); document.removeEventListener("visibilitychange", open); };
}

// All jobs, and the questions of those that wait, kept up to date by the events of all.
interface World { jobs: Job[]; cut: boolean; more: boolean; details: Map<string, Detail>; loaded: boolean; doing: Map<string, string>; error?: string }
let world: World = { jobs: [], cut: false, more: false, details: new Map(), loaded: false, doing: new Map() };
const worldReaders = new Set<() => void>();
const change = (w: Partial<World>) => { world = { ...world, ...w }; worldReaders.forEach((f) => f()); };
export const useWorld = () => useSyncExternalStore((f) => { worldReaders.add(f); return () => worldReaders.delete(f); }, () => world);

const eventReaders = new Set<(e: Event) => void>();
export function listen(f: (e: Event) => void): () => void {
  eventReaders.add(f);
  return () => { eventReaders.delete(f); };
}
export function useEvents(f: (e: Event) => void) {
  const now = useRef(f);
  now.current = f;
  useEffect(() => listen((e) => now.current(e)), []);
}

// listed is the most jobs of a list, of all and of those that run or wait: each of the latter is asked for its questions.
export const listed = 300;

// refresh reads the list of jobs, and the details of those that changed: any that may ask, or only what events touched.
let refreshing = false, dirty = false;
const touched = new Set<string>();
export async function refresh(all = true) {
  dirty = true;
  if (all) world.jobs.filter(asks).forEach((j) => touched.add(j.id));
  if (refreshing) return;
  refreshing = true;
  try {
    while (dirty) {
      dirty = false;
      const [newest, open] = (await Promise.all([call<Job[] | null>("jobs/list", { limit: listed }), call<Job[] | null>("jobs/list", { status: ["waiting", "running"], limit: listed })])).map((l) => l ?? []);
      const ids = new Set(newest.map((j) => j.id));
      change({ jobs: [...newest, ...open.filter((j) => !ids.has(j.id))], cut: newest.length === listed, more: open.length === listed, loaded: true, error: undefined });
      const stale = world.jobs.filter((j, i) => {
        const d = world.details.get(j.id);
        return (asks(j) || i < 60) && (touched.has(j.id) || !d || (j.status !== "running" && d.job.updated !== j.updated));
      });
      await pool(4, stale, async (j) => {
        touched.delete(j.id);
        try { world.details.set(j.id, await call<Detail>("jobs/show", { job: j.id })); } catch { touched.add(j.id); }
      });
      change({ details: new Map(world.details) });
    }
  } catch (e) {
    if (e instanceof Failure && e.kind !== "offline") change({ error: e.message, loaded: true });
  }
  refreshing = false;
}
const asks = (j: Job) => j.status === "waiting" || j.status === "running";

async function pool<T>(n: number, list: T[], f: (x: T) => Promise<void>) {
  const left = [...list];
  await Promise.all(Array.from({ length: n }, async () => { for (let x; (x = left.shift()); ) await f(x).catch(() => {}); }));
}

// start reads the events of all jobs, once for the page. A server that was started again may send those of before
// again: of a job that was seen by their numbers, of another one by their age, by the clock of the server.
export function start() {
  let soon: number | undefined, turned = false;
  const seen = new Map<string, number>();
  let first = 0;
  follow("/v1/events?after=-1&follow=true", (e) => {
    first ||= Date.parse(e.time);
    if (e.seq && (e.seq <= (seen.get(e.job) ?? 0) || (!seen.has(e.job) && Date.parse(e.time) < first - 600_000))) return;
    if (e.seq) seen.set(e.job, e.seq);
    if (e.kind === "step.started") world.doing.set(e.job, [e.step, e.name].filter(Boolean).join(" "));
    eventReaders.forEach((f) => f(e));
    const turning = e.kind.startsWith("job.") || e.kind === "approval" || e.kind === "answer" || e.step === "await";
    if (turning) { turned = true; touched.add(e.job); }
    soon ??= window.setTimeout(() => {
      soon = undefined;
      change({ doing: new Map(world.doing) });
      if (turned) { turned = false; void refresh(false); }
    }, 150);
  }, { open: () => { void refresh(); void readAccess(); } });
  // A hidden page has no stream, and a connection may be dead without an error.
  setInterval(() => { if (document.hidden) void refresh(); else call("jobs/list", { limit: 1 }).catch(() => {}); }, 20_000);
}

// useCall asks a route when the page needs it, and again by the function that it returns.
export function useCall<T>(route: string | null, body: unknown = {}): { data?: T; error?: Failure; again: () => void } {
  const key = route && route + JSON.stringify(body);
  const [state, set] = useState<{ key: string | null; data?: T; error?: Failure }>({ key });
  const last = useRef(0); // an answer that a later call overtook does not count
  const again = useCallback(() => {
    const n = ++last.current;
    if (!route) return;
    call<T>(route, body).then((data) => { if (n === last.current) set({ key, data }); }, (error) => { if (n === last.current) set((s) => ({ key, data: s.key === key ? s.data : undefined, error })); });
  }, [key]);
  useEffect(again, [again]);
  return state.key === key ? { data: state.data, error: state.error, again } : { again };
}

// begin has a job run that a request has added, and shows it, also if it does not start: there it can be started,
// and jobs/show has the reason.
export async function begin(s: Submitted, view = "jobs") {
  try { await call("jobs/start", { job: s.job.id, options: { live: true } }); } catch (e) {
    if (e instanceof Failure && e.kind === "offline") throw e;
  } finally {
    void refresh();
    go(view, s.job.id);
  }
}

// useSubmit adds a job once, also if its request is sent again because no answer came.
export function useSubmit(): (request: unknown) => Promise<Submitted> {
  const sent = useRef({ text: "", key: "" });
  return async (request) => {
    const text = JSON.stringify(request);
    if (sent.current.text !== text) sent.current = { text, key: crypto.randomUUID() };
    const s = await call<Submitted>("jobs/submit", request, sent.current.key);
    sent.current = { text: "", key: "" };
    return s;
  };
}

// useSend sends a job a message and starts it, and does not send it again if only the start failed.
export function useSend(job: string): (text: string, start: boolean) => Promise<void> {
  const sent = useRef("");
  return async (text, start) => {
    if (sent.current !== text) await call("jobs/send", { job, options: { text, mentions: text } });
    sent.current = text;
    if (start) await call("jobs/start", { job, options: { live: true } });
    sent.current = "";
  };
}

// useDirs are the directories of jobs, what the token is for and where the server was started, and the first that was
// seen: it does not change below a form.
export function useDirs(): { dirs: string[]; usual: string } {
  const { jobs, loaded } = useWorld(), may = useAccess(), dirs = [...new Set([...jobs.map((j) => j.dir), ...may?.roots ?? [], may?.dir].filter(Boolean))] as string[], usual = useRef("");
  if (loaded && may) usual.current ||= dirs[0] ?? "";
  return { dirs, usual: usual.current };
}

// The address of a view is behind the #, so that the server has one page.
export const go = (...parts: string[]) => { location.hash = to(...parts); };
export const to = (...parts: string[]) => "#/" + parts.map(encodeURIComponent).join("/");
export const usePlace = () => useSyncExternalStore(
  (f) => { addEventListener("hashchange", f); return () => removeEventListener("hashchange", f); },
  () => location.hash,
).replace(/^#\/?/, "").split("/").map(decoded);
const decoded = (s: string) => { try { return decodeURIComponent(s); } catch { return s; } };
