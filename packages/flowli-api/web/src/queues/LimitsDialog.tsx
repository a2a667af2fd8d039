import { Button, Group, Modal, NumberInput, Stack } from "@mantine/core";
import { useState } from "react";
import type { Queue } from "@/api/types";
import { useWrite } from "@/api/writes";
import { ProblemBox } from "@/parts/ProblemBox";

/** How many tasks at once, and how many in a period, in the whole fleet. */
export function LimitsDialog({ queue, onClose }: { queue: Queue; onClose: () => void }) {
  const { concurrency, rate, rate_period_s } = queue.settings;
  const [given, setGiven] = useState({ concurrency, rate, rate_period_s });
  const write = useWrite({ done: "Limits are set", quiet: true, onDone: onClose });
  const number = (value: string | number) => (typeof value === "number" ? value : null);
  return (
    <Modal opened onClose={onClose} title={`Limits of queue ${queue.name}`}>
      <Stack gap="sm">
        {write.isError && <ProblemBox error={write.error} />}
        <NumberInput
          label="Tasks at once"
          description="Empty for no limit"
          min={1}
          allowDecimal={false}
          value={given.concurrency ?? ""}
          onChange={(value) => setGiven({ ...given, concurrency: number(value) })}
        />
        <NumberInput
          label="Tasks in a period"
          description="Empty for no limit"
          min={1}
          allowDecimal={false}
          value={given.rate ?? ""}
          onChange={(value) => setGiven({ ...given, rate: number(value) })}
        />
        <NumberInput
          label="Period in seconds"
          min={0.1}
          value={given.rate_period_s}
          onChange={(value) => setGiven({ ...given, rate_period_s: number(value) ?? 1 })}
        />
        <Group justify="flex-end">
          <Button
            loading={write.isPending}
            onClick={() => write.mutate({ path: `v1/queues/${queue.name}/limits`, body: given, method: "PUT" })}
          >
            Set the limits
          </Button>
        </Group>
      </Stack>
    </Modal>
  );
}
