/** A problem (RFC 9457) that the service answered with, or that there was no answer. */
export class Problem extends Error {
  constructor(
    readonly status: number,
    readonly code: string,
    readonly title: string,
    readonly detail: string,
    readonly requestId: string | null = null,
  ) {
    super(detail ? `${title}: ${detail}` : title);
  }
}

interface Details {
  code?: string;
  title?: string;
  detail?: string;
  request_id?: string;
  errors?: { where?: string; loc?: (string | number)[]; message?: string; msg?: string }[];
}

export async function problemOf(response: Response): Promise<Problem> {
  let found: Details = {};
  try {
    found = (await response.json()) as Details;
  } catch {
    // a proxy answered with something else than a problem
  }
  const more = (found.errors ?? []).map((one) => one.message ?? one.msg ?? "").filter(Boolean);
  const detail = [found.detail ?? "", ...more].filter(Boolean).join(" ");
  const title = found.title ?? `The service answered ${response.status}`;
  return new Problem(response.status, found.code ?? "", title, detail, found.request_id ?? null);
}

export function asProblem(error: unknown): Problem {
  if (error instanceof Problem) return error;
  const detail = error instanceof Error ? error.message : String(error);
  return new Problem(0, "unreachable", "The service cannot be reached", detail);
}
