import { Stack, Text, Title } from "@mantine/core";
import { useQueryClient } from "@tanstack/react-query";
import { useRead } from "@/api/reads";
import type { Execution, Log } from "@/api/types";
import { useStream } from "@/api/useStream";
import { CodeView } from "@/parts/CodeView";
import { Empty } from "@/parts/Empty";
import { Loaded } from "@/parts/Loaded";
import { Attachments } from "./Attachments";

/** What the attempts printed and logged, as it comes; and what else is kept beside the execution. */
export function Logs({ execution }: { execution: Execution }) {
  const cache = useQueryClient();
  const path = `v1/executions/${execution.eid}/logs`;
  const live = useStream(execution.ended_at ? null : `${path}/events`, ({ name }) => {
    if (name === "log") void cache.invalidateQueries({ queryKey: path.split("/") });
  });
  const logs = useRead<{ logs: Log[] }>(path, { live: live || execution.ended_at !== null });
  return (
    <Stack gap="md">
      <Loaded of={logs}>
        {({ logs: found }) =>
          found.length === 0 ? (
            <div className="card">
              <Empty title="No logs">
                The attempts of this execution have printed and logged nothing that is kept.
              </Empty>
            </div>
          ) : (
            found.map((one) => (
              <section key={`${one.fid} ${one.attempt} ${one.epoch} ${one.run}`}>
                <Title order={2} size="h6" mb={4}>
                  <span className="mono">{one.fid.replace(/^root\//, "")}</span>{" "}
                  <Text span size="sm" c="dimmed">
                    attempt {one.attempt}
                  </Text>
                </Title>
                <CodeView text={one.text} label={`Log of ${one.fid}, attempt ${one.attempt}`} />
              </section>
            ))
          )
        }
      </Loaded>
      <Attachments eid={execution.eid} />
    </Stack>
  );
}
