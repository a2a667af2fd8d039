import { ActionIcon, Button, Group, Menu, Modal, Stack, Text } from "@mantine/core";
import { EllipsisVertical } from "lucide-react";
import { useState } from "react";
import { useWrite } from "@/api/writes";
import { ProblemBox } from "@/parts/ProblemBox";
import { ScheduleDialog } from "./ScheduleDialog";
import type { Schedule } from "./types";

/** Change a schedule, or remove it. */
export function ScheduleMenu({ schedule }: { schedule: Schedule }) {
  const [open, setOpen] = useState<"change" | "remove" | null>(null);
  const close = () => setOpen(null);
  return (
    <>
      <Menu position="bottom-end">
        <Menu.Target>
          <ActionIcon variant="default" size={30} aria-label={`More actions for ${schedule.id}`}>
            <EllipsisVertical size={16} aria-hidden />
          </ActionIcon>
        </Menu.Target>
        <Menu.Dropdown>
          <Menu.Item onClick={() => setOpen("change")}>Change…</Menu.Item>
          <Menu.Item c="var(--bad-text)" onClick={() => setOpen("remove")}>
            Remove…
          </Menu.Item>
        </Menu.Dropdown>
      </Menu>
      {open === "change" && <ScheduleDialog schedule={schedule} onClose={close} />}
      {open === "remove" && <Removal id={schedule.id} onClose={close} />}
    </>
  );
}

function Removal({ id, onClose }: { id: string; onClose: () => void }) {
  const write = useWrite({ done: "Removed", quiet: true, onDone: onClose });
  return (
    <Modal opened onClose={onClose} title={`Remove schedule ${id}`}>
      <Stack gap="sm">
        <Text size="sm">It starts nothing any more. What it has started goes on.</Text>
        {write.isError && <ProblemBox error={write.error} />}
        <Group justify="flex-end">
          <Button variant="default" onClick={onClose}>
            Leave as is
          </Button>
          <Button
            color="red"
            loading={write.isPending}
            onClick={() => write.mutate({ path: `v1/schedules/${id}`, method: "DELETE" })}
          >
            Remove
          </Button>
        </Group>
      </Stack>
    </Modal>
  );
}
