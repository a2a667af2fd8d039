import { useSearchParams } from "react-router";
import type { Query } from "@/api/client";
import { type Json, type JsonObject, STATUSES, type Status } from "@/api/types";

export interface Filters {
  status: Status[];
  workflow: string;
  queue: string;
  text: string;
  key: string;
  attribute: string[];
  waiting_on: string;
  created_after: string;
  created_before: string;
  cursor: string;
}

const TEXTS = ["workflow", "queue", "text", "key", "waiting_on", "created_after", "created_before", "cursor"] as const;

export function filtersOf(params: URLSearchParams): Filters {
  const found = Object.fromEntries(TEXTS.map((name) => [name, params.get(name) ?? ""]));
  const status = params.getAll("status").filter((one): one is Status => STATUSES.some((known) => known === one));
  return { ...(found as Record<(typeof TEXTS)[number], string>), status, attribute: params.getAll("attribute") };
}

/** The filters in the address: a list can be sent to somebody, and the browser's way back works. */
export function useFilters(): [Filters, (change: Partial<Filters>) => void] {
  const [params, setParams] = useSearchParams();
  const filters = filtersOf(params);
  function change(change: Partial<Filters>) {
    const next = { ...filters, cursor: "", ...change };
    const made = new URLSearchParams();
    for (const [name, value] of Object.entries(next)) {
      for (const one of Array.isArray(value) ? value : [value]) if (one) made.append(name, one);
    }
    setParams(made);
  }
  return [filters, change];
}

export function queryOf(filters: Filters): Query {
  return { ...filters };
}

export function anyFilter(filters: Filters): boolean {
  return Object.entries(filters).some(([name, value]) => name !== "cursor" && value.length > 0);
}

/** The same conditions for an action on all that fit. */
export function bulkFilterOf({ cursor: _, attribute, ...rest }: Filters): JsonObject {
  const given = Object.entries(rest).filter(([, value]) => value.length > 0);
  const attributes = attribute.map((one): [string, Json] => {
    const [name = "", ...more] = one.split(":");
    return [name, scalar(more.join(":"))];
  });
  return { ...Object.fromEntries(given), ...(attributes.length > 0 && { attributes: Object.fromEntries(attributes) }) };
}

/** The value of an attribute as the service reads it in an address: JSON if it is a scalar, else text. */
function scalar(text: string): Json {
  try {
    const value = JSON.parse(text) as Json;
    return typeof value === "object" && value !== null ? text : value;
  } catch {
    return text;
  }
}
