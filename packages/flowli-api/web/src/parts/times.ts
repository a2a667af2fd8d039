const RELATIVE = new Intl.RelativeTimeFormat(undefined, { numeric: "auto", style: "short" });
const STEPS: [Intl.RelativeTimeFormatUnit, number][] = [
  ["year", 31_557_600],
  ["month", 2_629_800],
  ["day", 86_400],
  ["hour", 3600],
  ["minute", 60],
];

/** "5 min. ago", "in 2 days". */
export function relative(at: string, now: number): string {
  const seconds = (Date.parse(at) - now) / 1000;
  for (const [unit, size] of STEPS) {
    if (Math.abs(seconds) >= size) return RELATIVE.format(Math.trunc(seconds / size), unit);
  }
  return RELATIVE.format(Math.trunc(seconds), "second");
}

const LOCAL = new Intl.DateTimeFormat(undefined, { dateStyle: "medium", timeStyle: "medium" });
const CLOCK = new Intl.DateTimeFormat(undefined, { timeStyle: "medium" });

/** In the zone of whoever looks. */
export const local = (at: string): string => LOCAL.format(new Date(at));

export const clock = (at: string): string => CLOCK.format(new Date(at));

export const utc = (at: string): string => `${at.slice(0, 19).replace("T", " ")} UTC`;

/** "850 ms", "1.2 s", "3 min 5 s", "2 h 4 min", "3 d 2 h". */
export function duration(seconds: number): string {
  if (seconds < 0.9995) return `${Math.round(seconds * 1000)} ms`;
  if (seconds < 60) return `${Number(seconds.toFixed(1))} s`;
  const pairs: [number, string, number, string][] = [
    [60, "min", 1, "s"],
    [3600, "h", 60, "min"],
    [86_400, "d", 3600, "h"],
  ];
  const [size, unit, small, smallUnit] = pairs.findLast(([least]) => seconds >= least) ?? [60, "min", 1, "s"];
  const whole = Math.floor(seconds / size);
  const rest = Math.floor((seconds - whole * size) / small);
  return rest ? `${whole} ${unit} ${rest} ${smallUnit}` : `${whole} ${unit}`;
}
