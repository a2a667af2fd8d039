import { Button, Group, Modal, ScrollArea, Stack, Table, Text, TextInput } from "@mantine/core";
import { useQuery } from "@tanstack/react-query";
import { useState } from "react";
import { send } from "@/api/client";
import type { BulkAction, BulkItem, BulkResult, JsonObject } from "@/api/types";
import { useWrite } from "@/api/writes";
import { Loaded } from "@/parts/Loaded";
import { ProblemBox } from "@/parts/ProblemBox";
import { ShortId } from "@/parts/ShortId";
import { StatusChip } from "@/parts/StatusChip";

/** Executions that are named, or all that a filter finds. */
export type BulkTarget = { eids: string[] } | { filter: JsonObject };

interface Props {
  action: BulkAction;
  target: BulkTarget;
  onClose: () => void;
  onDone: () => void;
}

/** First a dry run: what would be touched. Then the same for good. */
export function BulkDialog({ action, target, onClose, onDone }: Props) {
  const [reason, setReason] = useState("");
  const trial = useQuery<BulkResult>({
    queryKey: ["bulk", action, target],
    queryFn: () => send("v1/bulk", { action, ...target, dry_run: true }),
  });
  const write = useWrite<BulkResult>({ quiet: true });
  function finish() {
    onDone();
    onClose();
  }

  const result = write.data ?? trial.data;
  const name = action.charAt(0).toUpperCase() + action.slice(1);
  // just those that were shown, whatever else has come to fit the filter meanwhile
  const eids = (trial.data?.items ?? []).filter((one) => one.outcome === "would").map((one) => one.eid);

  return (
    <Modal opened onClose={onClose} title={`${name} executions`} size="lg">
      <Stack gap="sm">
        {write.isError && <ProblemBox error={write.error} />}
        <Loaded of={trial}>
          {() =>
            result?.items.length ? <Outcome items={result.items} /> : <Text size="sm">No execution fits any more.</Text>
          }
        </Loaded>
        {write.data ? (
          <Group justify="flex-end">
            <Button onClick={finish}>Done</Button>
          </Group>
        ) : (
          <>
            <TextInput
              label="Reason"
              description="It stands in the audit of each execution."
              value={reason}
              onChange={(event) => setReason(event.currentTarget.value)}
            />
            <Group justify="flex-end">
              <Button variant="default" onClick={onClose}>
                Leave as is
              </Button>
              <Button
                color={action === "cancel" ? "red" : undefined}
                disabled={eids.length === 0}
                loading={write.isPending}
                onClick={() => write.mutate({ path: "v1/bulk", body: { action, eids, reason, dry_run: false } })}
              >
                {name} {eids.length}
              </Button>
            </Group>
          </>
        )}
      </Stack>
    </Modal>
  );
}

const WORDS = { would: "will be touched", skipped: "is left as it is", done: "done", refused: "refused" } as const;

function Outcome({ items }: { items: BulkItem[] }) {
  return (
    <ScrollArea.Autosize mah={320}>
      <Table>
        <Table.Tbody>
          {items.map((one) => (
            <Table.Tr key={one.eid}>
              <Table.Td>
                <ShortId eid={one.eid} link={false} />
              </Table.Td>
              <Table.Td>{one.status && <StatusChip status={one.status} />}</Table.Td>
              <Table.Td>
                <Text size="sm">{WORDS[one.outcome]}</Text>
                <Text size="xs" c="dimmed">
                  {one.made ? `new: ${one.made}` : one.detail}
                </Text>
              </Table.Td>
            </Table.Tr>
          ))}
        </Table.Tbody>
      </Table>
    </ScrollArea.Autosize>
  );
}
