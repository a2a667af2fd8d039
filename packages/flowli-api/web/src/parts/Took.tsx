import { duration } from "./times";
import { useAsTimePasses } from "./useNow";

/** How long something took, or has taken so far. */
export function Took({ from, to }: { from: string; to: string | null }) {
  const text = useAsTimePasses((now) => {
    const seconds = ((to ? Date.parse(to) : now) - Date.parse(from)) / 1000;
    return duration(to ? seconds : Math.max(Math.floor(seconds), 0));
  });
  return <span style={{ whiteSpace: "nowrap" }}>{text}</span>;
}
