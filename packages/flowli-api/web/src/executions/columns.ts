import { useLocalStorage } from "@mantine/hooks";
import { useMemo } from "react";

/** Columns that can be chosen; status, workflow and id are always there. */
export const COLUMNS = {
  detail: "Detail",
  key: "Key",
  queue: "Queue",
  version: "Version",
  attributes: "Attributes",
  by: "Started by",
  started: "Started",
  duration: "Duration",
  updated: "Changed",
} as const;
export type Column = keyof typeof COLUMNS;

const DEFAULT: Column[] = ["detail", "key", "started", "duration"];

export function useColumns(): [Column[], (columns: Column[]) => void] {
  const [kept, keep] = useLocalStorage<Column[]>({ key: "flowli.columns", defaultValue: DEFAULT });
  const shown = useMemo(() => (Object.keys(COLUMNS) as Column[]).filter((one) => kept.includes(one)), [kept]);
  return [shown, keep];
}
