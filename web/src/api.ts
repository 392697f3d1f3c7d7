import { useCallback, useEffect, useRef, useState, useSyncExternalStore } from "react";
import type { Detail, Event, Job, Submitted } from "./types";

// A Failure is an error of the interface, with what to do about it.
export class Failure extends Error {
  constructor(message: string, readonly kind: string, readonly hint = "") { super(message); }
}

// call asks a route of the interface.
export async function call<T>(route: string, body: unknown = {}): Promise<T> {
  let res: Response;
  try {
    res = await fetch("/v1/" + route, { method: "POST", headers: { "Content-Type": "application/json" }, body: JSON.stringify(body) });
  } catch {
    setLink("offline");
    throw new Failure("The server does not answer.", "offline", "It is tried again until it does.");
  }
  const text = await res.text();
  if (res.status === 401) setLink("out");
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

// follow reads a stream of events until it is stopped, and connects again after the last event that it
// had. A hidden page holds no stream: browsers allow few connections.
export function follow(address: string, on: (e: Event) => void, o: { open?: () => void; end?: () => void } = {}): () => void {
  let source: EventSource | undefined, again: number | undefined, last = "", over = false;
  const close = () => { source?.close(); source = undefined; clearTimeout(again); };
  const open = () => {
    close();
    if (over || document.hidden) return;
    source = new EventSource(last ? address.replace(/after=[^&]*/, "after=" + last) : address);
    source.onopen = () => { setLink("online"); o.open?.(); };
    source.onmessage = (m) => { if (m.lastEventId) last = m.lastEventId; on(JSON.parse(m.data)); };
    source.addEventListener("end", () => { over = true; close(); o.end?.(); });
    source.onerror = () => {
      close();
      if (over) return;
      again = window.setTimeout(() => {
        call("jobs/list", { limit: 1 }).then(open, () => { again = window.setTimeout(open, 1500); });
      }, 300);
    };
  };
  document.addEventListener("visibilitychange", open);
  open();
  return () => { over = true; close(); document.removeEventListener("visibilitychange", open); };
}

// All jobs, and the questions of those that wait, kept up to date by the events of all.
interface World { jobs: Job[]; details: Map<string, Detail>; loaded: boolean; doing: Map<string, string>; error?: string }
let world: World = { jobs: [], details: new Map(), loaded: false, doing: new Map() };
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

let refreshing = false, dirty = false;
export async function refresh() {
  dirty = true;
  if (refreshing) return;
  refreshing = true;
  try {
    while (dirty) {
      dirty = false;
      const jobs = await call<Job[]>("jobs/list", { limit: 300 });
      change({ jobs: jobs ?? [], loaded: true, error: undefined });
      const stale = world.jobs.filter((j, i) => {
        const d = world.details.get(j.id);
        return asks(j) || (i < 60 && (!d || d.job.updated !== j.updated) && j.status !== "running");
      });
      await pool(4, stale, async (j) => {
        const d = await call<Detail>("jobs/show", { job: j.id });
        world.details.set(j.id, d);
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

// start reads the events of all jobs, once for the page.
export function start() {
  let soon: number | undefined;
  follow("/v1/events?after=-1&follow=true", (e) => {
    if (e.kind === "step.started") world.doing.set(e.job, [e.step, e.name].filter(Boolean).join(" "));
    eventReaders.forEach((f) => f(e));
    const turning = e.kind.startsWith("job.") || e.kind === "approval" || e.kind === "answer" || e.step === "await";
    if (soon === undefined) soon = window.setTimeout(() => { soon = undefined; void (turning ? refresh() : change({ doing: new Map(world.doing) })); }, 150);
    else if (turning) { clearTimeout(soon); soon = window.setTimeout(() => { soon = undefined; void refresh(); }, 150); }
  }, { open: () => void refresh() });
}

// useCall asks a route when the page needs it, and again by the function that it returns.
export function useCall<T>(route: string | null, body: unknown = {}): { data?: T; error?: Failure; again: () => void } {
  const key = route && route + JSON.stringify(body);
  const [state, set] = useState<{ key: string | null; data?: T; error?: Failure }>({ key });
  const again = useCallback(() => {
    if (!route) return;
    call<T>(route, body).then((data) => set({ key, data }), (error) => set((s) => ({ key, data: s.key === key ? s.data : undefined, error })));
  }, [key]);
  useEffect(again, [again]);
  return state.key === key ? { data: state.data, error: state.error, again } : { again };
}

// begin has a job run that a request has added, and shows it.
export async function begin(s: Submitted) {
  await call("jobs/start", { job: s.job.id, options: { live: true } });
  void refresh();
  go("jobs", s.job.id);
}

// The address of a view is behind the #, so that the server has one page.
export const go = (...parts: string[]) => { location.hash = to(...parts); };
export const to = (...parts: string[]) => "#/" + parts.map(encodeURIComponent).join("/");
export const usePlace = () => useSyncExternalStore(
  (f) => { addEventListener("hashchange", f); return () => removeEventListener("hashchange", f); },
  () => location.hash,
).replace(/^#\/?/, "").split("/").map(decodeURIComponent);
