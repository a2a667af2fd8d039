import { Button, Stack } from "@mantine/core";
import { useDisclosure } from "@mantine/hooks";
import { Plus } from "lucide-react";
import { useMay } from "@/api/may";
import { useRead } from "@/api/reads";
import { Empty } from "@/parts/Empty";
import { Loaded } from "@/parts/Loaded";
import { Page } from "@/parts/Page";
import { ScheduleCard } from "./ScheduleCard";
import { ScheduleDialog } from "./ScheduleDialog";
import type { SchedulePage } from "./types";

const POLL_MS = 5000;

/** What is started by itself, and when next. */
export function SchedulesPage() {
  const schedules = useRead<SchedulePage>("v1/schedules", { pollMs: POLL_MS });
  const manage = useMay()("schedules:manage");
  const [opened, { open, close }] = useDisclosure(false);
  return (
    <Page
      title="Schedules"
      actions={
        manage && (
          <Button leftSection={<Plus size={16} aria-hidden />} onClick={open}>
            New schedule
          </Button>
        )
      }
    >
      {opened && <ScheduleDialog schedule={null} onClose={close} />}
      <Loaded of={schedules}>
        {({ items }) => (
          <Stack gap="sm">
            {items.length === 0 && (
              <div className="card">
                <Empty title="There are no schedules">
                  Add one here, with <code>flowli schedules</code>, or from your program.
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
