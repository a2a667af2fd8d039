import { useCallback, useEffect, useRef } from "react";

/** Call at most once in a while; the last call is never lost. */
export function useThrottled(call: () => void, everyMs: number): () => void {
  const timer = useRef<number | null>(null);
  const latest = useRef(call);
  useEffect(() => {
    latest.current = call;
  });
  useEffect(() => () => window.clearTimeout(timer.current ?? undefined), []);
  return useCallback(() => {
    timer.current ??= window.setTimeout(() => {
      timer.current = null;
      latest.current();
    }, everyMs);
  }, [everyMs]);
}
