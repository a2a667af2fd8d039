import type { Execution, Status } from "@/api/types";

/** What an operator can do with one execution. */
export interface Verb {
  label: string;
  needs: string;
  /** One sentence: what it does. */
  does: string;
  on: readonly Status[];
  /** It takes something away. */
  hard?: boolean;
  /** It makes a new execution, which is shown then. */
  makes?: boolean;
}

const OPEN = ["pending", "running", "suspended"] as const;
const DONE = ["completed", "failed", "cancelled"] as const;

export const VERBS = {
  signal: {
    label: "Send a message",
    needs: "executions:signal",
    does: "The message is kept until the execution receives on its channel.",
    on: OPEN,
  },
  update: {
    label: "Ask it",
    needs: "executions:signal",
    does: "The execution takes up the update when its code comes to it, and answers.",
    on: OPEN,
  },
  pause: {
    label: "Pause",
    needs: "executions:operate",
    does: "It stops at its next step and goes on when somebody resumes it.",
    on: OPEN,
  },
  resume: {
    label: "Resume",
    needs: "executions:operate",
    does: "A paused execution goes on; a parked one is tried again.",
    on: ["suspended"],
  },
  migrate: {
    label: "Move to another version",
    needs: "executions:migrate",
    does: "It runs on by the code of another version of its workflow.",
    on: OPEN,
  },
  cancel: {
    label: "Cancel",
    needs: "executions:cancel",
    does: "Its code is told, and its clean-up runs.",
    on: OPEN,
    hard: true,
  },
  terminate: {
    label: "Terminate",
    needs: "executions:operate",
    does: "It ends as cancelled at once. No code of it runs any more, no clean-up either.",
    on: OPEN,
    hard: true,
  },
  retry: {
    label: "Retry",
    needs: "executions:operate",
    does: "A new execution goes on from the frame that failed; what was completed is not done again.",
    on: ["failed"],
    makes: true,
  },
  fork: {
    label: "Fork from a frame",
    needs: "executions:operate",
    does: "A new execution takes over all outcomes before the frame and goes on from there.",
    on: DONE,
    makes: true,
  },
  replay: {
    label: "Run again",
    needs: "executions:operate",
    does: "A new execution starts with the same input.",
    on: DONE,
    makes: true,
  },
  erase: {
    label: "Erase",
    needs: "executions:erase",
    does: "All values of this execution are removed for good. That cannot be taken back.",
    on: DONE,
    hard: true,
  },
} as const satisfies Record<string, Verb>;

export type VerbName = keyof typeof VERBS;

export const isVerb = (name: string): name is VerbName => name in VERBS;

/** Those that fit the state of an execution. */
export function fitting(execution: Execution): VerbName[] {
  const parked = execution.waits_on.some((one) => one.tag === "operator");
  return (Object.keys(VERBS) as VerbName[]).filter((name) => {
    if (name === "resume" && !parked) return false;
    if (name === "pause" && parked) return false;
    if (name === "erase" && execution.erased) return false;
    return (VERBS[name].on as readonly Status[]).includes(execution.status);
  });
}
