import { Button, Group, Text } from "@mantine/core";
import { useState } from "react";
import { useMay } from "@/api/may";
import type { BulkAction } from "@/api/types";
import { BulkDialog } from "./BulkDialog";

export const ACTIONS: { action: BulkAction; label: string; needs: string }[] = [
  { action: "pause", label: "Pause", needs: "executions:operate" },
  { action: "resume", label: "Resume", needs: "executions:operate" },
  { action: "retry", label: "Retry", needs: "executions:operate" },
  { action: "cancel", label: "Cancel", needs: "executions:cancel" },
];

/** What can be done with the rows that are selected. */
export function BulkBar({ eids, onDone }: { eids: string[]; onDone: () => void }) {
  const [action, setAction] = useState<BulkAction | null>(null);
  const may = useMay();
  return (
    <Group className="card" p="xs" gap="xs" role="toolbar" aria-label="Selected executions">
      <Text size="sm" fw={550} mr="xs">
        {eids.length} selected
      </Text>
      {ACTIONS.filter(({ needs }) => may(needs)).map((one) => (
        <Button
          key={one.action}
          size="xs"
          variant="default"
          c={one.action === "cancel" ? "var(--bad-text)" : undefined}
          onClick={() => setAction(one.action)}
        >
          {one.label}…
        </Button>
      ))}
      <Button size="xs" variant="subtle" color="gray" onClick={onDone}>
        Clear selection
      </Button>
      {action && <BulkDialog action={action} target={{ eids }} onClose={() => setAction(null)} onDone={onDone} />}
    </Group>
  );
}
