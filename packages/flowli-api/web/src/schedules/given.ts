import type { Json, JsonObject } from "@/api/types";
import { recorded, secondsOf } from "@/start/durations";
import type { Schedule, When } from "./types";

/** What somebody has filled in. */
export interface Given {
  id: string;
  workflow: string;
  kind: When["kind"];
  expression: string;
  zone: string;
  every: string;
  since: string | null;
  instants: string;
  kwargs: Json | undefined;
  slot_argument: string;
  overlap: string;
  catch_up: string;
  queue: string;
  note: string;
}

const NEW: Given = {
  id: "",
  workflow: "",
  kind: "cron",
  expression: "0 2 * * *",
  zone: Intl.DateTimeFormat().resolvedOptions().timeZone,
  every: "",
  since: null,
  instants: "",
  kwargs: undefined,
  slot_argument: "",
  overlap: "skip",
  catch_up: "last",
  queue: "",
  note: "",
};

/** The fields of a schedule as they stand; of a new one, what most people want. */
export function givenOf(schedule: Schedule | null): Given {
  if (schedule === null) return NEW;
  const { when, kwargs, slot_argument, queue, ...rest } = schedule;
  return {
    ...NEW,
    id: rest.id,
    workflow: rest.workflow,
    kind: when.kind,
    ...(when.kind === "cron" && { expression: when.expression, zone: when.zone }),
    ...(when.kind === "every" && { every: words(when.seconds), since: when.since }),
    ...(when.kind === "at" && { instants: when.instants.join("\n") }),
    kwargs,
    slot_argument: slot_argument ?? "",
    overlap: rest.overlap,
    catch_up: rest.catch_up,
    queue: queue ?? "",
    note: rest.note,
  };
}

/** The body of a request; or, as a text, what is wrong with what was filled in. */
export function bodyOf(given: Given, schedule: Schedule | null): JsonObject | string {
  const when = whenOf(given);
  if (typeof when === "string") return when;
  if (schedule === null && !given.workflow) return "Choose a workflow.";
  return {
    ...(schedule === null && { id: given.id, workflow: given.workflow }),
    when,
    kwargs: given.kwargs ?? {},
    slot_argument: given.slot_argument || null,
    overlap: given.overlap,
    catch_up: given.catch_up,
    queue: given.queue || null,
    note: given.note,
  };
}

function whenOf({ kind, expression, zone, every, since, instants }: Given): JsonObject | string {
  switch (kind) {
    case "cron":
      return { kind, expression: expression.trim(), zone: zone.trim() };
    case "every": {
      const seconds = secondsOf(every);
      return seconds === null ? "Say how often, like 15 min." : { kind, seconds, ...(since !== null && { since }) };
    }
    case "at": {
      const lines = instants.split("\n").filter((line) => line.trim());
      const times = lines.map((line) => Date.parse(line.trim()));
      if (times.length === 0 || times.some(Number.isNaN)) return "Write one instant on each line.";
      return { kind, instants: times.toSorted((a, b) => a - b).map((time) => new Date(time).toISOString()) };
    }
    case "ticks":
      return { kind };
  }
}

/** Seconds so that they are read back as they are. */
function words(seconds: number): string {
  const whole = Number.isInteger(seconds) ? seconds : null;
  if (whole !== null && whole % 3600 === 0) return `${whole / 3600} h`;
  if (whole !== null && whole % 60 === 0) return `${whole / 60} min`;
  return recorded(seconds);
}
