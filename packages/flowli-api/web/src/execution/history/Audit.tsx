import { Table } from "@mantine/core";
import { useRead } from "@/api/reads";
import type { Act, Items } from "@/api/types";
import { Empty } from "@/parts/Empty";
import { Loaded } from "@/parts/Loaded";
import { When } from "@/parts/When";

/** Who did what to it, and why. */
export function Audit({ eid, live }: { eid: string; live: boolean }) {
  const acts = useRead<Items<Act>>(`v1/executions/${eid}/acts`, { live });
  return (
    <Loaded of={acts}>
      {({ items }) => (
        <div className="card">
          {items.length === 0 ? (
            <Empty title="Nobody has touched it">Each act of an operator on this execution stands here.</Empty>
          ) : (
            <Table.ScrollContainer minWidth={480}>
              <Table>
                <Table.Thead>
                  <Table.Tr>
                    <Table.Th>When</Table.Th>
                    <Table.Th>Who</Table.Th>
                    <Table.Th>What</Table.Th>
                    <Table.Th>Why</Table.Th>
                  </Table.Tr>
                </Table.Thead>
                <Table.Tbody>
                  {items.map((one) => (
                    <Table.Tr key={one.seq}>
                      <Table.Td>
                        <When at={one.at} as="local" />
                      </Table.Td>
                      <Table.Td>{one.by.id}</Table.Td>
                      <Table.Td>{one.verb}</Table.Td>
                      <Table.Td>{one.reason}</Table.Td>
                    </Table.Tr>
                  ))}
                </Table.Tbody>
              </Table>
            </Table.ScrollContainer>
          )}
        </div>
      )}
    </Loaded>
  );
}
