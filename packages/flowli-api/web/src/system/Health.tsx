import { Group } from "@mantine/core";
import { useQuery } from "@tanstack/react-query";
import { address } from "@/api/client";
import { StatusChip } from "@/parts/StatusChip";

const POLL_MS = 5000;

/** Whether the process answers, and whether it can read the storage. */
export function Health() {
  return (
    <Group gap="xs" role="status">
      <Probe path="health" yes="healthy" no="not healthy" />
      <Probe path="ready" yes="storage readable" no="not ready" />
    </Group>
  );
}

function Probe({ path, yes, no }: { path: string; yes: string; no: string }) {
  const { data } = useQuery({
    queryKey: ["probe", path],
    queryFn: async () => (await fetch(address(path))).ok,
    refetchInterval: POLL_MS,
    retry: false,
  });
  if (data === undefined) return null;
  return <StatusChip status={data ? yes : no} as={data ? "ok" : "bad"} />;
}
