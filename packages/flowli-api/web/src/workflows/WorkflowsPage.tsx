import { Button, Group, Stack, Text, Title } from "@mantine/core";
import { Link } from "react-router";
import { useMay } from "@/api/may";
import { useWorkflows } from "@/api/reads";
import type { Workflow } from "@/api/types";
import { Empty } from "@/parts/Empty";
import { JsonView } from "@/parts/JsonView";
import { Loaded } from "@/parts/Loaded";
import { Page } from "@/parts/Page";

/** The workflows that the service knows. */
export function WorkflowsPage() {
  const workflows = useWorkflows();
  return (
    <Page title="Workflows">
      <Loaded of={workflows}>
        {({ items }) => (
          <Stack gap="sm">
            {items.length === 0 && (
              <div className="card">
                <Empty title="This service knows no workflow">
                  Serve it with <code>--app module:registry</code>.
                </Empty>
              </div>
            )}
            {[...Map.groupBy(items, (one) => one.name).entries()].map(([name, versions]) => (
              <WorkflowCard key={name} versions={versions} />
            ))}
          </Stack>
        )}
      </Loaded>
    </Page>
  );
}

function WorkflowCard({ versions }: { versions: Workflow[] }) {
  const may = useMay();
  const one = versions.find((version) => version.latest) ?? versions[0];
  if (!one) return null;
  const names = versions.map((version) => version.version).join(", ");
  return (
    <section className="card" aria-label={one.name}>
      <Group justify="space-between" p="md" gap="sm" align="flex-start">
        <Stack gap={2}>
          <Title order={2} size="h5">
            {one.name}
          </Title>
          <Text size="sm">{one.doc}</Text>
          <Text size="sm" c="dimmed">
            {versions.length > 1 ? "Versions" : "Version"} {names} · queue {one.queue}
          </Text>
        </Stack>
        <Group gap="xs">
          <Button
            component={Link}
            to={`/executions?workflow=${encodeURIComponent(one.name)}`}
            size="xs"
            variant="default"
          >
            Executions
          </Button>
          {may("executions:start") && (
            <Button component={Link} to={`/start/${one.name}`} size="xs">
              Start
            </Button>
          )}
        </Group>
      </Group>
      <details style={{ padding: "0 16px 12px" }}>
        <summary style={{ cursor: "pointer", fontSize: 13 }}>Arguments and result</summary>
        <Stack gap="xs" pt="xs">
          <JsonView value={one.arguments} label={`Arguments of ${one.name}`} />
          <JsonView value={one.result} label={`Result of ${one.name}`} />
        </Stack>
      </details>
    </section>
  );
}
