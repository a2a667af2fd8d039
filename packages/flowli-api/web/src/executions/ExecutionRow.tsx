import { Checkbox, Table, Text } from "@mantine/core";
import { memo } from "react";
import { Link } from "react-router";
import type { ExecutionSummary } from "@/api/types";
import { ShortId } from "@/parts/ShortId";
import { StatusChip } from "@/parts/StatusChip";
import { Cell } from "./Cell";
import { COLUMNS, type Column } from "./columns";
import classes from "./ExecutionTable.module.css";

interface Props {
  execution: ExecutionSummary;
  columns: Column[];
  current: boolean;
  selected: boolean;
  onToggle: ((eid: string) => void) | null;
}

/** It is rendered when something of it changes: news come for a few rows of many. */
export const ExecutionRow = memo(function ExecutionRow({ execution, columns, current, selected, onToggle }: Props) {
  const { eid, workflow, status } = execution;
  return (
    <Table.Tr id={`row-${eid}`} className={classes.row ?? ""} data-current={current} data-selected={selected}>
      {onToggle && (
        <Table.Td className={classes.check ?? ""}>
          <Checkbox
            aria-label={`Select ${workflow} ${eid.slice(-8)}`}
            checked={selected}
            onChange={() => onToggle(eid)}
          />
        </Table.Td>
      )}
      <Table.Td className={classes.name ?? ""}>
        <Link className={classes.open} to={`/executions/${eid}`}>
          {workflow}
        </Link>
      </Table.Td>
      <Table.Td className={classes.status ?? ""}>
        <StatusChip status={status} />
      </Table.Td>
      {columns.map((one) => (
        <Table.Td key={one} data-label={COLUMNS[one]} className={one === "detail" ? classes.detail : undefined}>
          <Cell column={one} execution={execution} />
        </Table.Td>
      ))}
      <Table.Td data-label="Id">
        <Text component="span" size="sm">
          <ShortId eid={eid} link={false} />
        </Text>
      </Table.Td>
    </Table.Tr>
  );
});
