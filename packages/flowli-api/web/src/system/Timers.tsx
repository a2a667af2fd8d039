import { Table } from "@mantine/core";
import type { Timer } from "@/api/types";
import { Empty } from "@/parts/Empty";
import { ShortId } from "@/parts/ShortId";
import { When } from "@/parts/When";

/** What will go on by itself, and when. */
export function Timers({ items }: { items: Timer[] }) {
  return (
    <div className="card">
      {items.length === 0 ? (
        <Empty title="No timers">No execution sleeps or waits with a deadline.</Empty>
      ) : (
        <Table verticalSpacing={9} horizontalSpacing="md">
          <Table.Thead>
            <Table.Tr>
              <Table.Th>Due</Table.Th>
              <Table.Th>Execution</Table.Th>
              <Table.Th>Frame</Table.Th>
            </Table.Tr>
          </Table.Thead>
          <Table.Tbody>
            {items.map((one) => (
              <Table.Tr key={`${one.eid} ${one.fid} ${one.due_at}`}>
                <Table.Td>
                  <When at={one.due_at} />
                </Table.Td>
                <Table.Td>
                  <ShortId eid={one.eid} />
                </Table.Td>
                <Table.Td className="mono">{one.fid.replace(/^root\//, "")}</Table.Td>
              </Table.Tr>
            ))}
          </Table.Tbody>
        </Table>
      )}
    </div>
  );
}
