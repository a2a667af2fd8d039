import { duration } from "./times";
import { useNow } from "./useNow";

/** How long something took, or has taken so far. */
export function Took({ from, to }: { from: string; to: string | null }) {
  const now = useNow();
  const seconds = ((to ? Date.parse(to) : now) - Date.parse(from)) / 1000;
  const shown = to ? seconds : Math.max(Math.floor(seconds), 0);
  return <span style={{ whiteSpace: "nowrap" }}>{duration(shown)}</span>;
}
