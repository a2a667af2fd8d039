import { Button, Popover, Stack, TextInput } from "@mantine/core";
import { useState } from "react";
import type { Review } from "@/api/types";
import { useWrite } from "@/api/writes";

/** Hand one's right to decide over to another person. */
export function Delegate({ path }: { path: string }) {
  const [to, setTo] = useState("");
  const [open, setOpen] = useState(false);
  const write = useWrite<Review>({ done: "Delegated", onDone: () => setOpen(false) });
  return (
    <Popover opened={open} onChange={setOpen} shadow="md" trapFocus width={260}>
      <Popover.Target>
        <Button variant="subtle" color="gray" onClick={() => setOpen(!open)}>
          Delegate…
        </Button>
      </Popover.Target>
      <Popover.Dropdown aria-label="Delegate">
        <Stack gap="xs">
          <TextInput
            label="To"
            description="The name of the person"
            value={to}
            maxLength={300}
            onChange={(event) => setTo(event.currentTarget.value)}
          />
          <Button disabled={!to.trim()} loading={write.isPending} onClick={() => write.mutate({ path, body: { to } })}>
            Delegate
          </Button>
        </Stack>
      </Popover.Dropdown>
    </Popover>
  );
}
