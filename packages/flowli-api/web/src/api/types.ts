/** What the service gives and takes; docs/reference/http.md describes each model under the same name. */

export type Json = null | boolean | number | string | Json[] | { [name: string]: Json };
export type JsonObject = { [name: string]: Json };

export const STATUSES = ["pending", "running", "suspended", "completed", "failed", "cancelled"] as const;
export type Status = (typeof STATUSES)[number];
export type FrameStatus = "running" | "waiting" | "completed" | "failed" | "cancelled";

export interface Login {
  issuer: string;
  client_id: string;
  scope: string;
  audience: string | null;
}

export interface Config {
  version: string;
  oidc: Login | null;
  plugins: string[];
  max_page_size: number;
  max_wait_s: number;
}

export interface Me {
  actor: string;
  name: string;
  kind: string;
  capabilities: string[];
  workflows: string[] | null;
  groups: string[];
}

export interface Actor {
  kind: string;
  id: string;
  on_behalf_of: string | null;
}

export interface Failure {
  type: string;
  message: string;
  traceback: string | null;
}

export type Wait =
  | { tag: "channel"; channel: string }
  | { tag: "timer"; due_at: string }
  | { tag: "child"; eid: string }
  | { tag: "step"; fid: string; attempt: number }
  | { tag: "operator"; cause: string; reason?: string };

export interface ExecutionSummary {
  eid: string;
  workflow: string;
  version: string;
  status: Status;
  queue: string;
  priority: number;
  key: string | null;
  created_at: string;
  updated_at: string | null;
  started_at: string | null;
  ended_at: string | null;
  archived_at: string | null;
  created_by: Actor | null;
  parent: { eid: string; fid: string } | null;
  origin: JsonObject | null;
  epoch: number;
  journal_seq: number;
  waits_on: Wait[];
  reason: string;
  error: Failure | null;
  attributes: { [name: string]: string | number | boolean | null };
  erased: boolean;
}

export interface Execution extends ExecutionSummary {
  owner: { worker_id: string; host: string; pid: number; region: string } | null;
  args: JsonObject | null;
  value: Json;
  values_hidden: boolean;
  timeout_s: number | null;
}

export interface ExecutionPage {
  items: ExecutionSummary[];
  next_cursor: string | null;
  control_seq: number;
}

export interface Items<T> {
  items: T[];
}

export interface Entry {
  seq: number;
  tag: string;
  at: string;
  by: Actor;
  worker_id: string;
  epoch: number;
  attempt: number;
  body: JsonObject;
}

export interface JournalPage {
  eid: string;
  entries: Entry[];
  next_after: number | null;
  values_hidden: boolean;
}

export interface Attempt {
  number: number;
  started_at: string;
  ended_at: string | null;
  took_s: number;
  error: Failure | null;
}

export interface TreeNode {
  fid: string;
  name: string;
  kind: string | null;
  status: FrameStatus;
  started_at: string;
  ended_at: string | null;
  took_s: number;
  waits_on: Wait | null;
  deadline: string | null;
  attempts: Attempt[];
  value: Json;
  error: Failure | null;
  why: string;
  child: string | null;
  frames: TreeNode[];
}

export interface Tree {
  eid: string;
  frames: TreeNode[];
  values_hidden: boolean;
}

export interface GraphNode {
  id: string;
  label: string;
  kind: string;
  status: string;
  current: boolean;
}

export interface Graph {
  title: string;
  nodes: GraphNode[];
  edges: { source: string; target: string; status: string }[];
}

export interface NextAction {
  text: string;
  command: string;
  verb: string;
  fill: string[];
}

export interface Explanation {
  eid: string;
  reason: string;
  sentence: string;
  moves: string;
  actions: NextAction[];
  journal: number[];
  details: string[];
  others: Explanation[];
}

export interface Moment {
  at: string;
  seq: number | null;
  kind: string;
  text: string;
  by: Actor | null;
  fid: string | null;
  values: JsonObject;
}

export interface Act {
  seq: number;
  verb: string;
  reason: string;
  at: string;
  by: Actor;
}

export interface Log {
  fid: string;
  attempt: number;
  epoch: number;
  run: number;
  text: string;
}

export interface Workflow {
  name: string;
  version: string;
  latest: boolean;
  queue: string;
  timeout_s: number | null;
  doc: string;
  arguments: JsonObject;
  result: JsonObject;
}

export interface Written {
  eid: string | null;
  control_seq: number;
}

export type BulkAction = "pause" | "resume" | "cancel" | "retry";

export interface BulkItem {
  eid: string;
  outcome: "would" | "skipped" | "done" | "refused";
  status: Status | null;
  made: string | null;
  detail: string;
}

export interface BulkResult extends Written {
  dry_run: boolean;
  items: BulkItem[];
}

export interface Queue {
  name: string;
  settings: { paused: string | null; concurrency: number | null; rate: number | null; rate_period_s: number };
  tasks: number;
  held: number;
  delayed: number;
  dead: number;
  counted_to: number;
  worker_seen_at: string | null;
}

export interface Task {
  task_id: string;
  queue: string;
  kind: string;
  eid: string;
  reason: string;
  priority: number;
  cause_at: string;
  not_before: string | null;
  held: boolean;
  deaths: number;
  delayed: boolean;
}

export interface DeadTask extends Task {
  cause: string;
  died_at: string;
}

export interface Timer {
  due_at: string;
  eid: string;
  fid: string;
  queue: string;
}

export interface Stats {
  counts: { [status: string]: number };
  control_seq: number;
  streams: number;
  site: string;
  signs: { name: string; worker: string; at: string; fresh: boolean }[];
  due_timers: number;
  bill: Bill | null;
}

export interface Bill {
  since: string;
  requests: {
    verb: string;
    outcome: string;
    requests: number;
    seconds: number;
    sent_bytes: number;
    received_bytes: number;
  }[];
  dollars: number | null;
}

export interface ShownNames {
  published: string[];
  streams: string[];
}

export interface Shown {
  value: Json;
  at: string;
  number: number;
}

export interface Answered extends Written {
  answered: boolean;
  value: Json;
}

export interface FormField {
  name: string;
  kind: "text" | "integer" | "number" | "flag" | "decimal" | "date" | "choice";
  required: boolean;
  nullable: boolean;
  choices: string[];
}

export interface Decision {
  verdict: string;
  by: string[];
  decided_at: string;
  comment: string;
  form: JsonObject | null;
  expired: boolean;
}

export interface Review {
  review: string;
  eid: string;
  workflow: string;
  subject: string;
  data: Json;
  status: "open" | "decided" | "expired" | "closed";
  opened_at: string;
  deadline: string | null;
  verdicts: string[] | null;
  approvals: number;
  deciders: string[];
  form: FormField[];
  votes: JsonObject[];
  decision: Decision | null;
}
