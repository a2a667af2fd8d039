/** How a status is shown: colours are never all that tells it. */
export type Tone = "ok" | "bad" | "run" | "wait" | "calm";

const TONES: Record<string, Tone> = {
  pending: "calm",
  running: "run",
  suspended: "wait",
  waiting: "wait",
  completed: "ok",
  decided: "ok",
  failed: "bad",
  expired: "bad",
  cancelled: "calm",
  closed: "calm",
  open: "wait",
};

export const tone = (status: string): Tone => TONES[status] ?? "calm";
