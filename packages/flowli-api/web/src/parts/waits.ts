import type { Wait } from "@/api/types";

/** What something waits on, in a few words. */
export function waitText(wait: Wait): string {
  switch (wait.tag) {
    case "channel":
      return `message on ${wait.channel.replace(/^[0-9a-f-]{36}\./, "")}`;
    case "timer":
      return "timer";
    case "child":
      return "child execution";
    case "step":
      return `step ${wait.fid.replace(/^root\//, "")}`;
    case "operator":
      return wait.cause === "paused" ? "paused by an operator" : `operator: ${wait.cause.replace(/_/g, " ")}`;
  }
}
