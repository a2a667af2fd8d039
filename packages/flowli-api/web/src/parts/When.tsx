import { Tooltip } from "@mantine/core";
import { clock, local, relative, utc } from "./times";
import { useNow } from "./useNow";

interface Props {
  at: string | null;
  as?: "relative" | "local" | "clock";
}

/** An instant in the zone of whoever looks; in UTC on hover. */
export function When({ at, as = "relative" }: Props) {
  const now = useNow();
  if (at === null) return <span aria-hidden>–</span>;
  const text = as === "relative" ? relative(at, now) : as === "clock" ? clock(at) : local(at);
  return (
    <Tooltip label={`${local(at)} · ${utc(at)}`}>
      <time dateTime={at}>{text}</time>
    </Tooltip>
  );
}
