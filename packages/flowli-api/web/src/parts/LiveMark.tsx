import { Tooltip } from "@mantine/core";
import classes from "./chip.module.css";

/** Whether news come by themselves at once, or are asked for every few seconds. */
export function LiveMark({ live }: { live: boolean }) {
  return (
    <Tooltip label={live ? "News are shown at once" : "No event stream; asked every few seconds"}>
      <span className={`${classes.chip} ${live ? classes.ok : classes.calm}`} data-live={live} role="status">
        <span className={classes.dot} aria-hidden />
        {live ? "live" : "polling"}
      </span>
    </Tooltip>
  );
}
