import { Stack, Title } from "@mantine/core";
import { useRead } from "@/api/reads";
import type { DeadTask, Items, Queue } from "@/api/types";
import { Empty } from "@/parts/Empty";
import { Loaded } from "@/parts/Loaded";
import { Page } from "@/parts/Page";
import { DeadLetters } from "./DeadLetters";
import { QueueCard } from "./QueueCard";

const POLL_MS = 4000;

/** Queues: what waits, who takes, what was set aside. */
export function QueuesPage() {
  const queues = useRead<Items<Queue>>("v1/queues", { pollMs: POLL_MS });
  const dead = useRead<Items<DeadTask>>("v1/dead-letters", { pollMs: POLL_MS });
  return (
    <Page title="Queues">
      <Stack gap="lg">
        <Loaded of={queues}>
          {({ items }) => (
            <Stack gap="sm">
              {items.length === 0 && (
                <div className="card">
                  <Empty title="There are no queues">A queue is there as soon as a task is put into it.</Empty>
                </div>
              )}
              {items.map((one) => (
                <QueueCard key={one.name} queue={one} />
              ))}
            </Stack>
          )}
        </Loaded>
        <section>
          <Title order={2} size="h5" mb="xs">
            Dead letters
          </Title>
          <Loaded of={dead}>{({ items }) => <DeadLetters items={items} />}</Loaded>
        </section>
      </Stack>
    </Page>
  );
}
