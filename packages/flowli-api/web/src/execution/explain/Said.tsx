import { Fragment } from "react";
import { ShortId } from "@/parts/ShortId";
import { When } from "@/parts/When";

const PARTS =
  /(\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d+)?Z|[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12})/;

/** A sentence of the engine: instants in the zone of whoever reads it, ids as links. */
export function Said({ text }: { text: string }) {
  return text.split(PARTS).map((part, place) => {
    const key = `${place} ${part}`;
    if (place % 2 === 0) return <Fragment key={key}>{part}</Fragment>;
    return part.includes("T") ? <When key={key} at={part} as="local" /> : <ShortId key={key} eid={part} copy={false} />;
  });
}
