import { Button, Modal, Table } from "@mantine/core";
import { useState } from "react";
import { useRead } from "@/api/reads";
import type { Items, Task } from "@/api/types";
import { Empty } from "@/parts/Empty";
import { Loaded } from "@/parts/Loaded";
import { ShortId } from "@/parts/ShortId";
import { When } from "@/parts/When";

/** The first tasks of a queue. */
export function TasksButton({ queue }: { queue: string }) {
  const [open, setOpen] = useState(false);
  return (
    <>
      <Button size="xs" variant="default" onClick={() => setOpen(true)}>
        Tasks
      </Button>
      <Modal opened={open} onClose={() => setOpen(false)} title={`Tasks of queue ${queue}`} size="xl">
        {open && <Tasks queue={queue} />}
      </Modal>
    </>
  );
}

function Tasks({ queue }: { queue: string }) {
  const tasks = useRead<Items<Task>>(`v1/queues/${queue}/tasks`, { query: { limit: 100 }, live: false });
  return (
    <Loaded of={tasks}>
      {({ items }) =>
        items.length === 0 ? (
          <Empty title="The queue is empty" />
        ) : (
          <Table.ScrollContainer minWidth={560}>
            <Table>
              <Table.Thead>
                <Table.Tr>
                  <Table.Th>Execution</Table.Th>
                  <Table.Th>Why</Table.Th>
                  <Table.Th>Priority</Table.Th>
                  <Table.Th>Since</Table.Th>
                  <Table.Th>State</Table.Th>
                </Table.Tr>
              </Table.Thead>
              <Table.Tbody>
                {items.map((one) => (
                  <Table.Tr key={one.task_id}>
                    <Table.Td>
                      <ShortId eid={one.eid} />
                    </Table.Td>
                    <Table.Td>{one.reason}</Table.Td>
                    <Table.Td>{one.priority}</Table.Td>
                    <Table.Td>
                      <When at={one.cause_at} />
                    </Table.Td>
                    <Table.Td>{one.held ? "held" : one.delayed ? "delayed" : "ready"}</Table.Td>
                  </Table.Tr>
                ))}
              </Table.Tbody>
            </Table>
          </Table.ScrollContainer>
        )
      }
    </Loaded>
  );
}
