import { keepPreviousData, useQuery } from "@tanstack/react-query";
import { get, type Query } from "./client";
import type { Config, Execution, Items, Me, Workflow } from "./types";

const POLL_MS = 4000;

/** How often to ask: not at all while a stream tells of news. */
export function polling(live: boolean): number | false {
  return live ? false : POLL_MS;
}

interface Reading {
  query?: Query;
  live?: boolean;
  pollMs?: number;
  enabled?: boolean;
}

/** Read a route. Keys begin with the words of the path, so that a write can say what it made old. */
export function useRead<T>(path: string, { query = {}, live = true, pollMs, enabled = true }: Reading = {}) {
  return useQuery<T>({
    queryKey: [...path.split("/"), query],
    queryFn: ({ signal }) => get<T>(path, query, signal),
    refetchInterval: pollMs ?? polling(live),
    enabled,
    placeholderData: keepPreviousData,
  });
}

export const useConfig = () =>
  useQuery<Config>({ queryKey: ["config"], queryFn: () => get("v1/config"), staleTime: Number.POSITIVE_INFINITY });

export const useMe = () => useQuery<Me>({ queryKey: ["me"], queryFn: () => get("v1/me"), staleTime: 60_000 });

export const useWorkflows = (enabled = true) => useRead<Items<Workflow>>("v1/workflows", { enabled });

export const useExecution = (eid: string, live: boolean) => useRead<Execution>(`v1/executions/${eid}`, { live });
