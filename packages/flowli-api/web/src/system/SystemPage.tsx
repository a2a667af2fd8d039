import { SimpleGrid, Stack, Title } from "@mantine/core";
import { useConfig, useRead } from "@/api/reads";
import type { Items, Stats, Timer } from "@/api/types";
import { Loaded } from "@/parts/Loaded";
import { Page } from "@/parts/Page";
import { StatusChip } from "@/parts/StatusChip";
import { Tile } from "@/parts/Tile";
import { BillTable } from "./BillTable";
import { Health } from "./Health";
import { Signs } from "./Signs";
import { Timers } from "./Timers";

const POLL_MS = 4000;

/** How the fleet, the bucket and this process are doing. */
export function SystemPage() {
  const stats = useRead<Stats>("v1/stats", { pollMs: POLL_MS });
  const timers = useRead<Items<Timer>>("v1/timers", { query: { limit: 20 }, pollMs: POLL_MS });
  const config = useConfig();
  return (
    <Page title="System" actions={<Health />}>
      <Loaded of={stats}>
        {(found) => (
          <Stack gap="lg">
            <SimpleGrid className="card" component="dl" cols={{ base: 2, xs: 3, md: 6 }} p="md" m={0}>
              <Tile label="Service">{found.site}</Tile>
              <Tile label="Version">{config.data?.version ?? "…"}</Tile>
              <Tile label="Control log read to">{found.control_seq.toLocaleString()}</Tile>
              <Tile label="Event streams">{found.streams}</Tile>
              <Tile label="Timers overdue">{found.due_timers}</Tile>
              <Tile label="Plugins">{config.data?.plugins.join(", ") || "none"}</Tile>
            </SimpleGrid>
            <section>
              <Title order={2} size="h5" mb="xs">
                Workers and sweepers
              </Title>
              <Signs signs={found.signs} />
            </section>
            <section>
              <Title order={2} size="h5" mb="xs">
                Executions
              </Title>
              <SimpleGrid className="card" component="dl" cols={{ base: 2, xs: 3, md: 6 }} p="md" m={0}>
                {Object.entries(found.counts).map(([status, number]) => (
                  <div key={status}>
                    <dt>
                      <StatusChip status={status} />
                    </dt>
                    <dd style={{ margin: 0 }}>{number.toLocaleString()}</dd>
                  </div>
                ))}
              </SimpleGrid>
            </section>
            <section>
              <Title order={2} size="h5" mb="xs">
                Requests to the bucket
              </Title>
              <BillTable bill={found.bill} />
            </section>
            <section>
              <Title order={2} size="h5" mb="xs">
                Next timers
              </Title>
              <Loaded of={timers}>{({ items }) => <Timers items={items} />}</Loaded>
            </section>
          </Stack>
        )}
      </Loaded>
    </Page>
  );
}
