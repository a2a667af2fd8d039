import type { NextAction } from "@/api/types";

/** Where this interface shows what a command line would print; null if that is shown already, or nowhere. */
export function placeOf(action: NextAction): string | null {
  const [, verb, target = ""] = action.command.split(" ");
  switch (verb) {
    case "decide":
      return `/reviews?review=${encodeURIComponent(target)}`;
    case "reviews":
      return "/reviews";
    case "show":
      return `/executions/${target}/values`;
    case "journal":
    case "logs":
      return `/executions/${target}/${verb}`;
    case "explain":
      return `/executions/${target}`;
    case "queues":
    case "dead-letters":
      return "/queues";
    default:
      return null;
  }
}
