import { clock, local, relative, utc } from "./times";
import { useAsTimePasses } from "./useNow";

interface Props {
  at: string | null;
  as?: "relative" | "local" | "clock";
}

/** An instant in the zone of whoever looks; in UTC on hover. */
export function When({ at, as = "relative" }: Props) {
  const text = useAsTimePasses((now) => {
    if (at === null) return "–";
    return as === "relative" ? relative(at, now) : as === "clock" ? clock(at) : local(at);
  });
  if (at === null) return <span aria-hidden>{text}</span>;
  // the browser's own hint: a list holds a hundred of them
  return (
    <time dateTime={at} title={`${local(at)} · ${utc(at)}`}>
      {text}
    </time>
  );
}
