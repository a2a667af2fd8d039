import { Button, Group, Modal, Stack, TextInput } from "@mantine/core";
import { useState } from "react";
import type { Queue } from "@/api/types";
import { useWrite } from "@/api/writes";
import { ProblemBox } from "@/parts/ProblemBox";

/** Stop a queue, with a reason; or let it go on. */
export function PauseButton({ queue }: { queue: Queue }) {
  const [open, setOpen] = useState(false);
  const [reason, setReason] = useState("");
  const path = `v1/queues/${queue.name}`;
  const write = useWrite({ quiet: true, onDone: () => setOpen(false) });
  const resume = useWrite({ done: `Queue ${queue.name} goes on` });
  if (queue.settings.paused !== null)
    return (
      <Button size="xs" loading={resume.isPending} onClick={() => resume.mutate({ path: `${path}/resume`, body: {} })}>
        Resume
      </Button>
    );
  return (
    <>
      <Button size="xs" variant="default" onClick={() => setOpen(true)}>
        Pause…
      </Button>
      <Modal opened={open} onClose={() => setOpen(false)} title={`Pause queue ${queue.name}`}>
        <Stack gap="sm">
          {write.isError && <ProblemBox error={write.error} />}
          <TextInput
            label="Reason"
            description="No worker takes a task until the queue is resumed. Everybody sees why."
            required
            value={reason}
            maxLength={1000}
            onChange={(event) => setReason(event.currentTarget.value)}
          />
          <Group justify="flex-end">
            <Button
              disabled={!reason.trim()}
              loading={write.isPending}
              onClick={() => write.mutate({ path: `${path}/pause`, body: { reason } })}
            >
              Pause
            </Button>
          </Group>
        </Stack>
      </Modal>
    </>
  );
}
