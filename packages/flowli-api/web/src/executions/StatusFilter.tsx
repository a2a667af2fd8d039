import { STATUSES, type Status } from "@/api/types";
import { tone } from "@/parts/tone";
import classes from "./StatusFilter.module.css";

interface Props {
  counts: Record<string, number>;
  chosen: Status[];
  onChange: (status: Status[]) => void;
}

/** A tile for each status with its number; several can be chosen. */
export function StatusFilter({ counts, chosen, onChange }: Props) {
  return (
    <div className={classes.tiles} role="group" aria-label="Status">
      {STATUSES.map((status) => {
        const on = chosen.includes(status);
        const next = on ? chosen.filter((one) => one !== status) : [...chosen, status];
        return (
          <button
            key={status}
            type="button"
            className={classes.tile}
            aria-pressed={on}
            data-tone={tone(status)}
            onClick={() => onChange(next)}
          >
            <span className={classes.number}>{(counts[status] ?? 0).toLocaleString()}</span>
            <span className={classes.name}>{status}</span>
          </button>
        );
      })}
    </div>
  );
}
