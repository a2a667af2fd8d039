import type { ExecutionSummary } from "@/api/types";
import { businessKey } from "@/parts/keys";
import { Took } from "@/parts/Took";
import { When } from "@/parts/When";
import { waitText } from "@/parts/waits";
import type { Column } from "./columns";
import classes from "./ExecutionTable.module.css";

/** What a column says of an execution. */
export function Cell({ column, execution: one }: { column: Column; execution: ExecutionSummary }) {
  switch (column) {
    case "detail":
      return <span title={detail(one)}>{detail(one)}</span>;
    case "key":
      return <Key text={businessKey(one.key)} />;
    case "queue":
      return one.queue;
    case "version":
      return one.version;
    case "attributes":
      return Object.entries(one.attributes)
        .map(([name, value]) => `${name}: ${String(value)}`)
        .join(", ");
    case "by":
      return one.created_by?.id ?? null;
    case "started":
      return <When at={one.created_at} />;
    case "duration":
      return <Took from={one.created_at} to={one.ended_at} />;
    case "updated":
      return <When at={one.updated_at} />;
  }
}

function Key({ text }: { text: string | null }) {
  if (text === null) return null;
  return (
    <span className={`mono ${classes.key}`} title={text}>
      {text}
    </span>
  );
}

function detail(one: ExecutionSummary): string {
  if (one.error) return one.error.message;
  if (one.reason) return one.reason;
  return one.status === "suspended" ? one.waits_on.map(waitText).join(", ") : "";
}
