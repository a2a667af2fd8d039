import { Stack } from "@mantine/core";
import { useRead } from "@/api/reads";
import { Empty } from "@/parts/Empty";
import { Loaded } from "@/parts/Loaded";
import { Page } from "@/parts/Page";
import { ScheduleCard } from "./ScheduleCard";
import type { SchedulePage } from "./types";

const POLL_MS = 5000;

/** What is started by itself, and when next. */
export function SchedulesPage() {
  const schedules = useRead<SchedulePage>("v1/schedules", { pollMs: POLL_MS });
  return (
    <Page title="Schedules">
      <Loaded of={schedules}>
        {({ items }) => (
          <Stack gap="sm">
            {items.length === 0 && (
              <div className="card">
                <Empty title="There are no schedules">
                  Make one with <code>flowli schedules</code>.
                </Empty>
              </div>
            )}
            {items.map((one) => (
              <ScheduleCard key={one.id} schedule={one} />
            ))}
          </Stack>
        )}
      </Loaded>
    </Page>
  );
}
