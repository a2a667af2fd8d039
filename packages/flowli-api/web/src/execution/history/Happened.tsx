import { useRead } from "@/api/reads";
import type { Moment } from "@/api/types";
import { Loaded } from "@/parts/Loaded";
import { When } from "@/parts/When";
import { Said } from "../explain/Said";
import classes from "./history.module.css";

/** What happened, in order, in words. */
export function Happened({ eid, live }: { eid: string; live: boolean }) {
  const timeline = useRead<{ moments: Moment[] }>(`v1/executions/${eid}/timeline`, { live });
  return (
    <Loaded of={timeline}>
      {({ moments }) => (
        <ol className={`card ${classes.list}`}>
          {moments.map((one) => (
            <li key={`${one.at} ${one.kind} ${one.text}`} className={classes.moment} data-kind={kind(one.kind)}>
              <span className={classes.at}>
                <When at={one.at} as="clock" />
              </span>
              <span>
                <Said text={one.text} />
              </span>
              <span className={classes.by}>{one.by && one.by.kind !== "worker" ? one.by.id : null}</span>
            </li>
          ))}
        </ol>
      )}
    </Loaded>
  );
}

function kind(name: string): string {
  if (/failed|dead|lost/.test(name)) return "bad";
  if (/completed/.test(name)) return "ok";
  if (/suspended|paus/.test(name)) return "wait";
  return "calm";
}
