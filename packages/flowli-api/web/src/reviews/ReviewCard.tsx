import { Group, SimpleGrid, Stack, Text, Title } from "@mantine/core";
import { useMay } from "@/api/may";
import type { Review } from "@/api/types";
import { JsonView } from "@/parts/JsonView";
import { ShortId } from "@/parts/ShortId";
import { StatusChip } from "@/parts/StatusChip";
import { Tile } from "@/parts/Tile";
import { When } from "@/parts/When";
import { DecisionForm } from "./DecisionForm";

/** One review: what is to be decided, by whom until when, and the way to do it. */
export function ReviewCard({ review: one }: { review: Review }) {
  const may = useMay();
  return (
    <article className="card" aria-label={one.subject} data-review={one.review}>
      <SimpleGrid cols={{ base: 1, md: 2 }} p="md" spacing="lg">
        <Stack gap="sm">
          <Group gap="sm">
            <Title order={2} size="h5">
              {one.subject}
            </Title>
            <StatusChip status={one.status} />
          </Group>
          <SimpleGrid component="dl" cols={2} spacing="xs" m={0}>
            <Tile label="Execution">
              {one.workflow} <ShortId eid={one.eid} />
            </Tile>
            <Tile label="Asked">
              <When at={one.opened_at} />
            </Tile>
            {one.deadline && (
              <Tile label="Until">
                <When at={one.deadline} />
              </Tile>
            )}
            <Tile label="Who may decide">{one.deciders.length ? one.deciders.join(", ") : "anyone"}</Tile>
            {one.approvals > 1 && (
              <Tile label="Votes">
                {one.votes.length} of {one.approvals}
              </Tile>
            )}
          </SimpleGrid>
          {one.data !== null && <JsonView value={one.data} label={`Data of ${one.subject}`} />}
        </Stack>
        {one.decision ? (
          <Decided review={one} />
        ) : one.status === "open" && may("reviews:decide:*") ? (
          <DecisionForm review={one} />
        ) : null}
      </SimpleGrid>
    </article>
  );
}

function Decided({ review: { decision } }: { review: Review }) {
  if (!decision) return null;
  return (
    <Stack gap="xs">
      <Text size="sm">
        <b>{decision.verdict}</b> {decision.expired ? "when the deadline passed" : `by ${decision.by.join(", ")}`},{" "}
        <When at={decision.decided_at} />
      </Text>
      {decision.comment && <Text size="sm">{decision.comment}</Text>}
      {decision.form && <JsonView value={decision.form} label="What was filled in" />}
    </Stack>
  );
}
