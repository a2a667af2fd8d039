import { Button, Group, SimpleGrid, Text, Title } from "@mantine/core";
import { useState } from "react";
import { useMay } from "@/api/may";
import type { Queue } from "@/api/types";
import { StatusChip } from "@/parts/StatusChip";
import { Tile } from "@/parts/Tile";
import { When } from "@/parts/When";
import { LimitsDialog } from "./LimitsDialog";
import { PauseButton } from "./PauseButton";
import { TasksButton } from "./TasksButton";

/** One queue with its numbers and its settings. */
export function QueueCard({ queue }: { queue: Queue }) {
  const [limits, setLimits] = useState(false);
  const operate = useMay()("executions:operate");
  const { name, settings, tasks, counted_to } = queue;
  const rate = settings.rate === null ? "none" : `${settings.rate} in ${settings.rate_period_s} s`;
  return (
    <section className="card" aria-label={`Queue ${name}`}>
      <Group justify="space-between" p="sm" pb={0} gap="xs">
        <Group gap="sm">
          <Title order={2} size="h5">
            {name}
          </Title>
          {settings.paused !== null && <StatusChip status="paused" as="wait" />}
        </Group>
        <Group gap="xs">
          <TasksButton queue={name} />
          {operate && (
            <>
              <Button size="xs" variant="default" onClick={() => setLimits(true)}>
                Limits…
              </Button>
              <PauseButton queue={queue} />
            </>
          )}
        </Group>
      </Group>
      {settings.paused && (
        <Text size="sm" px="sm" c="var(--wait-text)">
          Paused: {settings.paused}
        </Text>
      )}
      <SimpleGrid component="dl" cols={{ base: 2, xs: 3, md: 7 }} p="sm" m={0} spacing="xs">
        <Tile label="Tasks">{tasks >= counted_to ? `${counted_to.toLocaleString()} or more` : tasks}</Tile>
        <Tile label="Held by workers">{queue.held}</Tile>
        <Tile label="Delayed">{queue.delayed}</Tile>
        <Tile label="Dead letters">{queue.dead}</Tile>
        <Tile label="Worker seen">{queue.worker_seen_at ? <When at={queue.worker_seen_at} /> : "never"}</Tile>
        <Tile label="At once at most">{settings.concurrency ?? "no limit"}</Tile>
        <Tile label="Rate limit">{rate}</Tile>
      </SimpleGrid>
      {limits && <LimitsDialog queue={queue} onClose={() => setLimits(false)} />}
    </section>
  );
}
