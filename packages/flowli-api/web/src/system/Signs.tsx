import { Table } from "@mantine/core";
import type { Stats } from "@/api/types";
import { Empty } from "@/parts/Empty";
import { StatusChip } from "@/parts/StatusChip";
import { When } from "@/parts/When";

/** The last signs of life. */
export function Signs({ signs }: { signs: Stats["signs"] }) {
  return (
    <div className="card">
      {signs.length === 0 ? (
        <Empty title="Nobody works">
          No worker and no sweeper has shown itself. Start them with <code>flowli worker --sweeper</code>.
        </Empty>
      ) : (
        <Table verticalSpacing={9} horizontalSpacing="sm">
          <Table.Thead>
            <Table.Tr>
              <Table.Th>What</Table.Th>
              <Table.Th>Seen last</Table.Th>
              <Table.Th>By</Table.Th>
              <Table.Th>State</Table.Th>
            </Table.Tr>
          </Table.Thead>
          <Table.Tbody>
            {signs.map((one) => (
              <Table.Tr key={one.name}>
                <Table.Td>{one.name.replace(/^queue:/, "workers of queue ")}</Table.Td>
                <Table.Td>
                  <When at={one.at} />
                </Table.Td>
                <Table.Td>{one.worker}</Table.Td>
                <Table.Td>
                  <StatusChip status={one.fresh ? "alive" : "gone"} as={one.fresh ? "ok" : "bad"} />
                </Table.Td>
              </Table.Tr>
            ))}
          </Table.Tbody>
        </Table>
      )}
    </div>
  );
}
