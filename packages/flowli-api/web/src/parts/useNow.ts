import { useSyncExternalStore } from "react";

const EVERY_MS = 1000;
const listeners = new Set<() => void>();
let now = Date.now();
let timer: number | undefined;

function subscribe(tell: () => void): () => void {
  listeners.add(tell);
  timer ??= window.setInterval(() => {
    now = Date.now();
    for (const one of listeners) one();
  }, EVERY_MS);
  return () => {
    listeners.delete(tell);
    if (listeners.size) return;
    window.clearInterval(timer);
    timer = undefined;
  };
}

/** The time, to the second; one clock for everything that is shown. */
export function useNow(): number {
  return useSyncExternalStore(subscribe, () => now);
}

/** A text that depends on the time; what shows it is rendered when the text changes, not every second. */
export function useAsTimePasses(text: (now: number) => string): string {
  return useSyncExternalStore(subscribe, () => text(now));
}
