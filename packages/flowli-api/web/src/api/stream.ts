import { address, headers, type Query } from "./client";
import { problemOf } from "./problem";

export interface StreamEvent {
  name: string;
  data: unknown;
}

interface Follow {
  path: string;
  query?: Query;
  signal: AbortSignal;
  onEvent: (event: StreamEvent) => void;
  onLive: (live: boolean) => void;
}

const LONGEST_PAUSE_MS = 15_000;

/** Follow server-sent events until the signal aborts or the stream says `end`. `EventSource` cannot send a token. */
export async function follow({ path, query, signal, onEvent, onLive }: Follow): Promise<void> {
  let last = "";
  let pause = 1000;
  let ended = false;
  while (!signal.aborted && !ended) {
    try {
      const asked = { ...headers(), accept: "text/event-stream", ...(last ? { "last-event-id": last } : {}) };
      const response = await fetch(address(path, query), { headers: asked, signal });
      if (!response.ok || response.body === null) throw await problemOf(response);
      onLive(true);
      pause = 1000;
      for await (const block of blocks(response.body)) {
        const event = parsed(block);
        if (event.id !== undefined) last = event.id;
        if (event.name === "end") ended = true;
        if (event.name) onEvent({ name: event.name, data: event.data ? JSON.parse(event.data) : null });
      }
    } catch {
      pause = Math.min(2 * pause, LONGEST_PAUSE_MS);
    }
    if (!signal.aborted) onLive(false);
    if (!ended && !signal.aborted) await new Promise((resolve) => setTimeout(resolve, pause));
  }
}

async function* blocks(body: ReadableStream<Uint8Array<ArrayBuffer>>): AsyncGenerator<string> {
  const reader = body.pipeThrough(new TextDecoderStream()).getReader();
  let rest = "";
  while (true) {
    const { done, value } = await reader.read();
    if (done) return;
    const parts = (rest + value).split("\n\n");
    rest = parts.pop() ?? "";
    yield* parts;
  }
}

function parsed(block: string): { name: string; data: string; id?: string } {
  const found: { name: string; data: string; id?: string } = { name: "", data: "" };
  for (const line of block.split("\n")) {
    const [field, ...more] = line.split(": ");
    const value = more.join(": ");
    if (field === "event") found.name = value;
    if (field === "data") found.data += value;
    if (field === "id") found.id = value;
  }
  return found;
}
