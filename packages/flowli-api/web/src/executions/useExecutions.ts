import { useQueryClient } from "@tanstack/react-query";
import { useRead } from "@/api/reads";
import type { ExecutionPage } from "@/api/types";
import { useStream } from "@/api/useStream";
import { useThrottled } from "@/api/useThrottled";
import { type Filters, queryOf } from "./filters";

const AT_MOST_EVERY_MS = 700;
const PATH = "v1/executions";

/** A page of the list, kept up to date: by events, or by polling while there are none. */
export function useExecutions(filters: Filters) {
  const cache = useQueryClient();
  const renew = useThrottled(() => {
    void cache.invalidateQueries({ queryKey: PATH.split("/") });
  }, AT_MOST_EVERY_MS);
  const { workflow, queue } = filters;
  const live = useStream("v1/events", ({ name }) => name !== "place" && renew(), { workflow, queue });
  const page = useRead<ExecutionPage>(PATH, { query: queryOf(filters), live });
  const counts = useRead<{ counts: Record<string, number> }>(`${PATH}/counts`, { query: { workflow }, live });
  return { page, counts: counts.data?.counts ?? {}, live };
}
