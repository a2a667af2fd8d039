import type { Execution } from "@/api/types";
import { businessKey } from "@/parts/keys";
import { ShortId } from "@/parts/ShortId";
import { Tile } from "@/parts/Tile";
import { Took } from "@/parts/Took";
import { When } from "@/parts/When";
import classes from "./Facts.module.css";

/** What is known of an execution at a glance. */
export function Facts({ execution: one }: { execution: Execution }) {
  const key = businessKey(one.key);
  const attributes = Object.entries(one.attributes);
  return (
    <dl className={`card ${classes.facts}`}>
      <Tile label="Started">
        <When at={one.created_at} as="local" />
      </Tile>
      <Tile label={one.ended_at ? "Took" : "Runs for"}>
        <Took from={one.created_at} to={one.ended_at} />
      </Tile>
      <Tile label="Version">{one.version}</Tile>
      <Tile label="Queue">{one.queue}</Tile>
      <Tile label="Started by">{one.created_by?.id ?? "–"}</Tile>
      {key && <Tile label="Business key">{key}</Tile>}
      {one.owner && (
        <Tile label="Worker">
          {one.owner.worker_id} on {one.owner.host}
        </Tile>
      )}
      {one.parent && (
        <Tile label="Child of">
          <ShortId eid={one.parent.eid} />
        </Tile>
      )}
      {typeof one.origin?.eid === "string" && (
        <Tile label="Made of">
          <ShortId eid={one.origin.eid} />
        </Tile>
      )}
      {attributes.map(([name, value]) => (
        <Tile key={name} label={name}>
          {String(value)}
        </Tile>
      ))}
    </dl>
  );
}
