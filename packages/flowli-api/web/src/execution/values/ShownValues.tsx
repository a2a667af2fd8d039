import { Stack, Text } from "@mantine/core";
import { useRead } from "@/api/reads";
import type { Shown, ShownNames } from "@/api/types";
import { When } from "@/parts/When";
import { Part } from "./Part";
import { StreamView } from "./StreamView";
import { Value } from "./Value";
import { useValues } from "./ValuesShown";

/** What the workflow shows to readers outside: published values and streams. */
export function ShownValues({ eid, live }: { eid: string; live: boolean }) {
  const names = useRead<ShownNames>(`v1/executions/${eid}/shown`, { live });
  const { published = [], streams = [] } = names.data ?? {};
  return (
    <>
      {published.map((name) => (
        <Part key={`published ${name}`} title={`Published: ${name}`}>
          <Published eid={eid} name={name} live={live} />
        </Part>
      ))}
      {streams.map((name) => (
        <Part key={`stream ${name}`} title={`Stream: ${name}`}>
          <StreamView eid={eid} name={name} />
        </Part>
      ))}
    </>
  );
}

function Published({ eid, name, live }: { eid: string; name: string; live: boolean }) {
  const { hidden } = useValues();
  const found = useRead<Shown>(`v1/executions/${eid}/published/${name}`, { live, enabled: !hidden });
  if (hidden) return <Value value={null} label={name} />;
  if (!found.data) return null;
  return (
    <Stack gap={4}>
      <Value value={found.data.value} label={name} />
      <Text size="xs" c="dimmed">
        <When at={found.data.at} />
      </Text>
    </Stack>
  );
}
