import type { Json } from "@/api/types";

export type When =
  | { kind: "cron"; expression: string; zone: string }
  | { kind: "every"; seconds: number; since: string }
  | { kind: "at"; instants: string[] }
  | { kind: "ticks" };

export interface Schedule {
  id: string;
  workflow: string;
  when: When;
  paused: boolean;
  note: string;
  slot_argument: string | null;
  queue: string | null;
  overlap: string;
  catch_up: string;
  kwargs: { [name: string]: Json };
  next: string[];
  running: number;
  why: string;
  runs: { eid: string; slot: string | null }[];
}

export interface SchedulePage {
  items: Schedule[];
}
