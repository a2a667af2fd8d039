const UNITS: Record<string, number> = { w: 604_800, d: 86_400, h: 3600, m: 60, min: 60, s: 1, sec: 1 };
const PART = /(\d+(?:\.\d+)?)\s*([a-z]+)/g;

/** Seconds of "2 d 4 h", "15 min", "P2D" or "PT1H30M"; null if it is nothing of that kind. */
export function secondsOf(text: string): number | null {
  const given = text.trim().toLowerCase();
  const iso = /^p(?=\d|t\d)([\d.]+w)?([\d.]+d)?(?:t([\d.]+h)?([\d.]+m)?([\d.]+s)?)?$/.exec(given);
  const words = iso ? iso.slice(1).filter(Boolean).join(" ") : given;
  let seconds = 0;
  const rest = words.replace(PART, (_, number: string, unit: string) => {
    seconds += Number(number) * (UNITS[unit] ?? Number.NaN);
    return "";
  });
  return words && !rest.trim() && Number.isFinite(seconds) ? seconds : null;
}

/** The form in which durations are recorded. */
export const recorded = (seconds: number): string => `PT${Number(seconds.toFixed(6))}S`;
