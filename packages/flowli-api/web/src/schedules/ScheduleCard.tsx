import { Button, Group, SimpleGrid, Text, Title } from "@mantine/core";
import { useNavigate } from "react-router";
import { useMay } from "@/api/may";
import { useWrite } from "@/api/writes";
import { ShortId } from "@/parts/ShortId";
import { StatusChip } from "@/parts/StatusChip";
import { Tile } from "@/parts/Tile";
import { duration } from "@/parts/times";
import { When } from "@/parts/When";
import { ScheduleMenu } from "./ScheduleMenu";
import type { When as Rule, Schedule } from "./types";

/** One schedule: when it starts what, its next slots, its last runs. */
export function ScheduleCard({ schedule: one }: { schedule: Schedule }) {
  const manage = useMay()("schedules:manage");
  const navigate = useNavigate();
  const write = useWrite({ done: one.paused ? "It goes on with its next slot" : "Paused" });
  const start = useWrite<{ eid: string }>({ done: "Started", onDone: ({ eid }) => navigate(`/executions/${eid}`) });
  const path = `v1/schedules/${one.id}`;
  return (
    <section className="card" aria-label={`Schedule ${one.id}`}>
      <Group justify="space-between" p="sm" pb={0} gap="xs">
        <Group gap="sm">
          <Title order={2} size="h5">
            {one.id}
          </Title>
          <StatusChip status={one.paused ? "paused" : "active"} as={one.paused ? "wait" : "ok"} />
        </Group>
        {manage && (
          <Group gap="xs">
            <Button
              size="xs"
              variant="default"
              loading={start.isPending}
              onClick={() => start.mutate({ path: `${path}/run`, body: {} })}
            >
              Run now
            </Button>
            <Button
              size="xs"
              variant="default"
              loading={write.isPending}
              onClick={() => write.mutate({ path: `${path}/${one.paused ? "resume" : "pause"}`, body: {} })}
            >
              {one.paused ? "Resume" : "Pause"}
            </Button>
            <ScheduleMenu schedule={one} />
          </Group>
        )}
      </Group>
      {(one.note || one.why) && (
        <Text size="sm" px="sm" c="dimmed">
          {[one.note, one.why].filter(Boolean).join(" ")}
        </Text>
      )}
      <SimpleGrid component="dl" cols={{ base: 1, xs: 2, md: 4 }} p="sm" m={0} spacing="xs">
        <Tile label="Starts">{one.workflow}</Tile>
        <Tile label="When">{ruleText(one.when)}</Tile>
        <Tile label="Next">
          {one.next.length === 0 && "none"}
          {one.next.slice(0, 3).map((at) => (
            <div key={at}>
              <When at={at} as="local" />
            </div>
          ))}
        </Tile>
        <Tile label="Last runs">
          {one.runs.length === 0 && "none yet"}
          {one.runs.slice(-3).map(({ eid }) => (
            <div key={eid}>
              <ShortId eid={eid} />
            </div>
          ))}
        </Tile>
      </SimpleGrid>
    </section>
  );
}

function ruleText(rule: Rule): string {
  switch (rule.kind) {
    case "cron":
      return `${rule.expression} (${rule.zone})`;
    case "every":
      return `every ${duration(rule.seconds)}`;
    case "at":
      return rule.instants.length === 1 ? "once" : `${rule.instants.length} times`;
    case "ticks":
      return "when a tick comes from outside";
  }
}
