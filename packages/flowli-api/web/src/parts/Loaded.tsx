import type { UseQueryResult } from "@tanstack/react-query";
import type { ReactNode } from "react";
import { Loading } from "./Loading";
import { ProblemBox } from "./ProblemBox";

interface Props<T> {
  of: UseQueryResult<T>;
  rows?: number;
  children: (data: T) => ReactNode;
}

/** What was read; a placeholder until it is there, and the problem if it cannot be had. */
export function Loaded<T>({ of, rows = 4, children }: Props<T>) {
  if (of.data !== undefined) return children(of.data);
  if (of.isError) return <ProblemBox error={of.error} retry={() => void of.refetch()} />;
  return <Loading rows={rows} />;
}
