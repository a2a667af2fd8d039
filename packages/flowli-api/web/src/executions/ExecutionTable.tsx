import { Checkbox, Table } from "@mantine/core";
import { useCallback, useEffect, useRef } from "react";
import type { ExecutionSummary } from "@/api/types";
import { COLUMNS, type Column } from "./columns";
import { ExecutionRow } from "./ExecutionRow";
import classes from "./ExecutionTable.module.css";
import { useRowKeys } from "./useRowKeys";

interface Props {
  items: ExecutionSummary[];
  columns: Column[];
  selected?: ReadonlySet<string>;
  onSelect?: (selected: ReadonlySet<string>) => void;
}

/** Executions as rows; on a phone each is a card. */
export function ExecutionTable({ items, columns, selected = new Set(), onSelect }: Props) {
  const eids = items.map((one) => one.eid);
  const some = eids.some((eid) => selected.has(eid));
  const all = eids.every((eid) => selected.has(eid));

  const latest = useRef({ selected, onSelect });
  useEffect(() => {
    latest.current = { selected, onSelect };
  });
  const toggle = useCallback((eid: string) => {
    const next = new Set(latest.current.selected);
    if (!next.delete(eid)) next.add(eid);
    latest.current.onSelect?.(next);
  }, []);

  const current = useRowKeys(eids, onSelect ? toggle : null);
  return (
    <div className="card">
      <Table className={classes.table ?? ""} verticalSpacing={9} horizontalSpacing="sm">
        <Table.Thead>
          <Table.Tr>
            {onSelect && (
              <Table.Th w={40}>
                <Checkbox
                  aria-label="Select all rows"
                  checked={all}
                  indeterminate={some && !all}
                  onChange={() => onSelect(all ? new Set() : new Set(eids))}
                />
              </Table.Th>
            )}
            <Table.Th>Workflow</Table.Th>
            <Table.Th>Status</Table.Th>
            {columns.map((one) => (
              <Table.Th key={one}>{COLUMNS[one]}</Table.Th>
            ))}
            <Table.Th>Id</Table.Th>
          </Table.Tr>
        </Table.Thead>
        <Table.Tbody>
          {items.map((one) => (
            <ExecutionRow
              key={one.eid}
              execution={one}
              columns={columns}
              current={one.eid === current}
              selected={selected.has(one.eid)}
              onToggle={onSelect ? toggle : null}
            />
          ))}
        </Table.Tbody>
      </Table>
    </div>
  );
}
