import { useEffect, useRef, useState } from "react";
import type { Query } from "./client";
import { follow, type StreamEvent } from "./stream";

/** Follow a stream while the component is shown; says whether it is live. While it is not, poll. */
export function useStream(path: string | null, onEvent: (event: StreamEvent) => void, query?: Query): boolean {
  const [live, setLive] = useState(false);
  const latest = useRef(onEvent);
  useEffect(() => {
    latest.current = onEvent;
  });
  const asked = JSON.stringify(query ?? {});
  useEffect(() => {
    if (path === null) return;
    const stop = new AbortController();
    void follow({
      path,
      query: JSON.parse(asked) as Query,
      signal: stop.signal,
      onEvent: (event) => latest.current(event),
      onLive: setLive,
    });
    return () => stop.abort();
  }, [path, asked]);
  return live;
}
