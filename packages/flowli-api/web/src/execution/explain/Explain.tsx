import { Group, Stack, Text } from "@mantine/core";
import { useRead } from "@/api/reads";
import type { Execution, Explanation } from "@/api/types";
import { Loaded } from "@/parts/Loaded";
import { ActionButton } from "./ActionButton";
import classes from "./Explain.module.css";
import { Proof } from "./Proof";
import { Said } from "./Said";

interface Props {
  execution: Execution;
  live: boolean;
}

/** What it says changes with the clock too: a holder is taken for dead, a deadline passes. */
const AGAIN_MS = 5000;

/** Why it stands where it stands, and what moves it. */
export function Explain({ execution, live }: Props) {
  const asked = useRead<Explanation>(`v1/executions/${execution.eid}/explain`, {
    live,
    ...(execution.ended_at ? {} : { pollMs: AGAIN_MS }),
  });
  return (
    <section className={`card ${classes.panel}`} data-status={execution.status} aria-label="Why it stands here">
      <Loaded of={asked} rows={2}>
        {(found) => (
          <Stack gap={10}>
            <One found={found} execution={execution} main />
            {found.others.length > 0 && (
              <details className={classes.more}>
                <summary>
                  {found.others.length === 1 ? "One more thing" : `${found.others.length} more things`} to know
                </summary>
                <Stack gap="md" pt="xs">
                  {found.others.map((one) => (
                    <One key={`${one.reason} ${one.sentence}`} found={one} execution={execution} />
                  ))}
                </Stack>
              </details>
            )}
          </Stack>
        )}
      </Loaded>
    </section>
  );
}

function One({ found, execution, main = false }: { found: Explanation; execution: Execution; main?: boolean }) {
  return (
    <Stack gap={8}>
      <Text size={main ? "md" : "sm"} fw={main ? 550 : 400} component="div" data-reason={found.reason}>
        <Said text={found.sentence} />
      </Text>
      {found.details.map((one) => (
        <Text key={one} size="sm" c="dimmed" component="div">
          <Said text={one} />
        </Text>
      ))}
      <Group gap="xs" justify="space-between">
        <Group gap="xs">
          {found.actions.map((one, place) => (
            <ActionButton key={one.command} action={one} execution={execution} main={main && place === 0} />
          ))}
        </Group>
        <Proof eid={found.eid} moves={found.moves} seqs={found.journal} />
      </Group>
    </Stack>
  );
}
