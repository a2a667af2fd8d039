import { Anchor, Breadcrumbs, Group, Title } from "@mantine/core";
import { useEffect } from "react";
import { Link } from "react-router";
import type { Execution } from "@/api/types";
import { LiveMark } from "@/parts/LiveMark";
import { ShortId } from "@/parts/ShortId";
import { StatusChip } from "@/parts/StatusChip";
import { Actions } from "./Actions";
import { ended } from "./ended";

export function Head({ execution, live }: { execution: Execution; live: boolean }) {
  const { eid, workflow, status } = execution;
  useEffect(() => {
    document.title = `${workflow} ${status} · flowli`;
  }, [workflow, status]);
  return (
    <div>
      <Breadcrumbs mb={4} fz="sm" separatorMargin={6}>
        <Anchor component={Link} to="/executions" c="var(--link)" fz="sm">
          Executions
        </Anchor>
        <ShortId eid={eid} link={false} />
      </Breadcrumbs>
      <Group justify="space-between" gap="sm">
        <Group gap="sm">
          <Title order={1} size="h3" style={{ overflowWrap: "anywhere" }}>
            {workflow}
          </Title>
          <StatusChip status={status} />
          {!ended(status) && <LiveMark live={live} />}
        </Group>
        <Actions execution={execution} />
      </Group>
    </div>
  );
}
