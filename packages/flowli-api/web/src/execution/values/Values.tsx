import { Stack, Switch, Text, Title } from "@mantine/core";
import type { ReactNode } from "react";
import type { Execution } from "@/api/types";
import { Failure } from "./Failure";
import { Value } from "./Value";
import { useValues } from "./ValuesShown";

/** What went in and what came out. */
export function Values({ execution: one }: { execution: Execution }) {
  const { hidden, shown, show } = useValues();
  return (
    <Stack className="card" p="md" gap="lg">
      {!hidden && (
        <Switch
          label="Show all values of this execution"
          checked={shown}
          onChange={(event) => show(event.currentTarget.checked)}
        />
      )}
      {one.erased && <Text size="sm">The values of this execution were erased.</Text>}
      <Part title="Arguments">
        <Value value={one.args} label="Arguments" />
      </Part>
      {one.status === "completed" && (
        <Part title="Result">
          <Value value={one.value} label="Result" />
        </Part>
      )}
      {one.error && (
        <Part title="Error">
          <Failure error={one.error} />
        </Part>
      )}
    </Stack>
  );
}

function Part({ title, children }: { title: string; children: ReactNode }) {
  return (
    <section>
      <Title order={2} size="h6" mb={6}>
        {title}
      </Title>
      {children}
    </section>
  );
}
