import { dropToken, token } from "@/auth/session";
import { problemOf } from "./problem";

export type Query = Record<string, string | number | boolean | string[] | null | undefined>;

export type Method = "POST" | "PUT" | "PATCH" | "DELETE";

const READ_OWN_MS = 20_000;
let written = { seq: 0, at: 0 };

/** The address of a route, wherever a proxy shows the service. */
export function address(path: string, query: Query = {}): string {
  const params = new URLSearchParams();
  for (const [name, value] of Object.entries(query)) {
    if (value === null || value === undefined || value === "") continue;
    for (const one of Array.isArray(value) ? value : [value]) params.append(name, String(one));
  }
  const search = params.size ? `?${params}` : "";
  return `${window.location.pathname.replace(/[^/]*$/, "")}${path}${search}`;
}

export function headers(): Record<string, string> {
  const mine = token();
  return mine ? { authorization: `Bearer ${mine}` } : {};
}

export async function get<T>(path: string, query: Query = {}, signal?: AbortSignal): Promise<T> {
  const asked = headers();
  // whoever wrote a moment ago sees it, whichever process answers
  if (performance.now() - written.at < READ_OWN_MS && written.seq) asked["flowli-after"] = String(written.seq);
  return taken<T>(await fetch(address(path, query), { headers: asked, signal: signal ?? null }));
}

export async function send<T>(path: string, body: unknown, method: Method = "POST"): Promise<T> {
  const response = await fetch(address(path), {
    method,
    headers: { ...headers(), "content-type": "application/json", "idempotency-key": crypto.randomUUID() },
    body: body === undefined ? null : JSON.stringify(body),
  });
  const seq = Number(response.headers.get("flowli-control-seq"));
  if (response.ok && seq) written = { seq, at: performance.now() };
  return taken<T>(response);
}

async function taken<T>(response: Response): Promise<T> {
  if (!response.ok) {
    if (response.status === 401) dropToken();
    throw await problemOf(response);
  }
  return (response.status === 204 ? null : await response.json()) as T;
}
