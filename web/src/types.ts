// What the page reads of the interface; /openapi.json describes all of it.

export interface Usage { in?: number; out?: number; cached?: number }
export interface Figures { turns?: number; calls?: number; usage?: Usage; cost_usd?: number }

export interface Rule { do: string; tool?: string; command?: string; path?: string; agent?: string }

export interface About {
  // of a tool call
  tool?: string; args?: Record<string, unknown>; needs?: string[] | string; why?: string; dir?: string; sandbox?: string; network?: string;
  files?: Record<string, string>; preview?: string; always?: Rule; changed?: boolean;
  // of a step that waits, and of a server
  question?: string; pipeline?: string; step?: string;
  asked_by?: string; server?: string; schema?: Schema; url?: string; fault?: string;
}

export interface Question { path: string; signals: string[]; about?: About; asked?: string; until?: string; type?: string }

export interface Job {
  id: string; workflow: string; agent?: string; title?: string; dir?: string; model?: string; status: string; reason?: string;
  created: string; started?: string; updated: string; finished?: string; questions?: Question[];
  input?: { prompt?: string; inputs?: Record<string, unknown>; limits?: Limits; mode?: string; pipeline?: string } | null;
  output?: Output;
  position?: { turns: number; calls: number; tool?: string }; queue?: number; actions?: Action[];
}

export interface Output { raised?: Limits; usage?: Usage; cost_usd?: number; used?: Record<string, Usage>; turns?: number; spent_ns?: number; below?: Figures; artifacts?: Record<string, Artifact> }
export interface Limits { turns?: number; tokens?: number; cost_usd?: number; time?: number }
export interface Artifact { value: unknown; tool?: string; version?: number }
export interface Action { do: string; job: string; signal?: string; question?: string; limit?: string; follow?: boolean; carry_out?: boolean }

export interface Part extends Figures {
  path: string; within?: string; agent?: string; about?: string; step?: string; model?: string; status: string; reason?: string;
  attempts?: number; retries?: number; took_ns?: number; began?: string; ended?: string;
}

export interface Final extends Figures {
  status: string; stopped: string; reason?: string; code?: string; met?: string[]; unmet?: string[]; unchecked?: string[]; summary?: string; evidence?: string;
  parts?: Part[]; artifacts?: string[];
}

export interface Detail {
  job: Job; questions?: Question[]; unread?: number; final?: Final; position?: Job["position"]; queue?: number; todo?: unknown;
  usage: { total: Figures; parts?: Part[]; models?: (Usage & { model: string; cost_usd?: number })[]; cost_usd?: number };
  changes: { changed?: boolean; steps?: string[]; incomplete?: string[] };
  worktree?: { dir?: string; branch?: string }; actions?: Action[]; refused?: { message: string; kind: string; hint?: string };
}

export interface Event {
  id?: number; seq?: number; job: string; path?: string; time: string; kind: string; step?: string; name?: string; text?: string;
  error?: string; code?: string; took_ns?: number; data?: any;
}

export interface Change { path: string; kind: string; from?: string; step?: string; uncertain?: boolean }
export interface Diff { job: string; changes: Change[] | null; diff: string; incomplete?: string[] }
export interface UndoReport { restored?: string[]; removed?: string[]; skipped?: { path: string; reason: string }[]; step?: string }

export interface Choice { const?: unknown; title?: string }
export interface Schema {
  type?: string; title?: string; description?: string; enum?: unknown[]; enumNames?: string[]; oneOf?: Choice[]; anyOf?: Choice[]; items?: Schema; default?: unknown;
  required?: string[]; properties?: Record<string, Schema>;
}

export interface Field { name: string; description?: string; optional?: boolean; default?: unknown }
export interface Agent { name: string; description: string; model?: string; inputs?: Field[]; mode?: string; limits?: Limits; tools?: string[]; layer: string; default_prompt?: string }
export interface Pipeline { name: string; description: string; steps: number; layer: string; file?: string }
export interface Model { model: string; lacks?: string; note?: string }
export interface Submitted { job: Job }
export interface Listing<T> { items: T[] | null; problems?: { file?: string; line?: number; severity: string; message: string; hint?: string }[] }

export interface Known {
  key: string; project: string; type: string; message: string; outcome: string; cost_usd?: number; tokens?: number; at: string;
  action: { decision: string; by?: string; agent?: string };
}
export interface Share { name?: string; all: number; well: number; low: number; high: number }
export interface Stats {
  jobs: number; status: Record<string, number>; decisions: Record<string, number>; deciders: Record<string, number>; problems: Share[] | null; agents: Share[] | null;
  fixed: Share; median_ns: number; tokens: number; cost_usd: number; escalated: Share;
}
export interface TestResult { command?: string; passed: number; failed: number; skipped: number; problem?: string; tests?: { name: string; package?: string; status: string; output?: string; file?: string; line?: number }[] }
