const UNITS = ["B", "kB", "MB", "GB", "TB"] as const;

/** "512 B", "1.5 kB". */
export function bytes(size: number): string {
  let left = size;
  let step = 0;
  while (left >= 1000 && step < UNITS.length - 1) {
    left /= 1000;
    step += 1;
  }
  return `${Number(left.toPrecision(3))} ${UNITS[step] ?? ""}`;
}
