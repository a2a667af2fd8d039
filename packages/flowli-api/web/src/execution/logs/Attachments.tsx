import { Button, Group, Stack, Text, Title } from "@mantine/core";
import { notifications } from "@mantine/notifications";
import { Download } from "lucide-react";
import { address, headers } from "@/api/client";
import { asProblem, problemOf } from "@/api/problem";
import { useRead } from "@/api/reads";

/** Bodies that are kept of an execution, to download: transcripts, diffs, reports. */
export function Attachments({ eid }: { eid: string }) {
  const kept = useRead<{ names: string[] }>(`v1/executions/${eid}/evidence`);
  const names = kept.data?.names ?? [];
  if (names.length === 0) return null;
  return (
    <section className="card">
      <Stack p="md" gap="xs">
        <Title order={2} size="h6">
          Evidence
        </Title>
        {names.map((name) => (
          <Group key={name} justify="space-between" gap="xs">
            <Text size="sm" className="mono" style={{ overflowWrap: "anywhere" }}>
              {name}
            </Text>
            <Button
              size="xs"
              variant="default"
              leftSection={<Download size={13} aria-hidden />}
              onClick={() => void download(eid, name)}
            >
              Download
            </Button>
          </Group>
        ))}
      </Stack>
    </section>
  );
}

async function download(eid: string, name: string): Promise<void> {
  try {
    const path = `v1/executions/${eid}/evidence/${name.split("/").map(encodeURIComponent).join("/")}`;
    const response = await fetch(address(path), { headers: headers() });
    if (!response.ok) throw await problemOf(response);
    const url = URL.createObjectURL(await response.blob());
    const link = document.createElement("a");
    link.href = url;
    link.download = name.split("/").at(-1) ?? "evidence";
    link.click();
    URL.revokeObjectURL(url);
  } catch (error) {
    const problem = asProblem(error);
    notifications.show({ color: "red", title: problem.title, message: problem.detail });
  }
}
