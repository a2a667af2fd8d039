import { Select } from "@mantine/core";
import type { Filters } from "./filters";

interface Props {
  filters: Filters;
  onChange: (change: Partial<Filters>) => void;
}

const HOUR_MS = 3_600_000;
const SPANS: [string, number][] = [
  ["Last hour", HOUR_MS],
  ["Last day", 24 * HOUR_MS],
  ["Last week", 168 * HOUR_MS],
  ["Last 30 days", 720 * HOUR_MS],
];

/** When they were started. The address holds the instant, so that a link shows the same list to everybody. */
export function TimeFilter({ filters, onChange }: Props) {
  const since = filters.created_after ? `Since ${new Date(filters.created_after).toLocaleString()}` : null;
  const names = SPANS.map(([name]) => name);
  return (
    <Select
      aria-label="Started"
      placeholder="Any time"
      data={since ? [since, ...names] : names}
      value={since}
      onChange={(name) => {
        const span = SPANS.find(([one]) => one === name)?.[1];
        if (span) onChange({ created_after: new Date(Date.now() - span).toISOString() });
        else if (name === null) onChange({ created_after: "" });
      }}
      clearable
      clearButtonProps={{ "aria-label": "Any time" }}
      miw={since ? 230 : 0}
    />
  );
}
