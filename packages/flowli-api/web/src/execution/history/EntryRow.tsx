import { useEffect, useRef, useState } from "react";
import type { Entry } from "@/api/types";
import { When } from "@/parts/When";
import { Value } from "../values/Value";
import classes from "./history.module.css";

interface Props {
  entry: Entry;
  /** Something pointed at it. */
  marked: boolean;
}

export function EntryRow({ entry, marked }: Props) {
  const [open, setOpen] = useState(marked);
  const row = useRef<HTMLLIElement>(null);
  useEffect(() => {
    if (marked) row.current?.scrollIntoView({ block: "center" });
  }, [marked]);
  const fid = typeof entry.body.fid === "string" ? entry.body.fid : "";
  const { body, ...rest } = entry;
  return (
    <li ref={row} className={classes.entry} data-marked={marked} data-seq={entry.seq}>
      <button type="button" aria-expanded={open} onClick={() => setOpen(!open)}>
        <span className={classes.seq}>{entry.seq}</span>
        <span className="mono">{entry.tag}</span>
        <span className={`mono ${classes.fid}`}>{fid}</span>
        <When at={entry.at} as="clock" />
      </button>
      {open && (
        <div className={classes.body}>
          <Value value={{ ...rest, by: { ...entry.by }, body }} label={`Entry ${entry.seq}`} />
        </div>
      )}
    </li>
  );
}
