import { Stack, Switch, Text } from "@mantine/core";
import type { Execution } from "@/api/types";
import { Failure } from "./Failure";
import { Part } from "./Part";
import { ShownValues } from "./ShownValues";
import { Value } from "./Value";
import { useValues } from "./ValuesShown";

/** What went in and what came out. */
export function Values({ execution: one, live }: { execution: Execution; live: boolean }) {
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
      <ShownValues eid={one.eid} live={live} />
    </Stack>
  );
}
