import { useEffect, useRef } from "react";

/** Keys that do something anywhere but in a field or a dialog. */
export function useKeys(keys: Record<string, () => void>): void {
  const latest = useRef(keys);
  useEffect(() => {
    latest.current = keys;
  });
  useEffect(() => {
    function pressed(event: KeyboardEvent) {
      if (event.ctrlKey || event.metaKey || event.altKey || event.defaultPrevented) return;
      const target = event.target instanceof HTMLElement ? event.target : null;
      if (target?.closest("input, textarea, select, [contenteditable], [role=dialog], [role=menu]")) return;
      if (event.key === "Enter" && target?.closest("a, button")) return;
      const does = latest.current[event.key];
      if (!does) return;
      event.preventDefault();
      does();
    }
    window.addEventListener("keydown", pressed);
    return () => window.removeEventListener("keydown", pressed);
  }, []);
}
