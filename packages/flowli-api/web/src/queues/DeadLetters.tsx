import { Button, Group, Table, Text } from "@mantine/core";
import { useMay } from "@/api/may";
import type { DeadTask } from "@/api/types";
import { useWrite } from "@/api/writes";
import { Empty } from "@/parts/Empty";
import { ShortId } from "@/parts/ShortId";
import { When } from "@/parts/When";

/** Tasks that were set aside: put back or dropped by hand. */
export function DeadLetters({ items }: { items: DeadTask[] }) {
  const operate = useMay()("executions:operate");
  const write = useWrite({ done: "Done" });

  function act(one: DeadTask, verb: "retry" | "drop") {
    const path = `v1/queues/${one.queue}/dead-letters/${verb}`;
    write.mutate({ path, body: { task_id: one.task_id, died_at: one.died_at } });
  }

  return (
    <div className="card">
      {items.length === 0 ? (
        <Empty title="No dead letters">A task that fails its worker again and again is set aside and shown here.</Empty>
      ) : (
        <Table.ScrollContainer minWidth={680}>
          <Table>
            <Table.Thead>
              <Table.Tr>
                <Table.Th>Execution</Table.Th>
                <Table.Th>Queue</Table.Th>
                <Table.Th>Cause</Table.Th>
                <Table.Th>Since</Table.Th>
                <Table.Th aria-label="Actions" />
              </Table.Tr>
            </Table.Thead>
            <Table.Tbody>
              {items.map((one) => (
                <Table.Tr key={`${one.task_id} ${one.died_at}`}>
                  <Table.Td>
                    <ShortId eid={one.eid} />
                  </Table.Td>
                  <Table.Td>{one.queue}</Table.Td>
                  <Table.Td>
                    <Text size="sm">{one.cause}</Text>
                  </Table.Td>
                  <Table.Td>
                    <When at={one.died_at} />
                  </Table.Td>
                  <Table.Td>
                    {operate && (
                      <Group gap="xs" justify="flex-end" wrap="nowrap">
                        <Button size="xs" onClick={() => act(one, "retry")}>
                          Put back
                        </Button>
                        <Button size="xs" variant="default" c="var(--bad-text)" onClick={() => act(one, "drop")}>
                          Drop
                        </Button>
                      </Group>
                    )}
                  </Table.Td>
                </Table.Tr>
              ))}
            </Table.Tbody>
          </Table>
        </Table.ScrollContainer>
      )}
    </div>
  );
}
