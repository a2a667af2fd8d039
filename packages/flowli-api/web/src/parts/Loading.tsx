import { Skeleton, Stack } from "@mantine/core";

export function Loading({ rows = 6 }: { rows?: number }) {
  return (
    <Stack gap="xs" aria-busy="true" role="status" aria-label="Loading">
      {Array.from({ length: rows }, (_, row) => `row ${row}`).map((one) => (
        <Skeleton key={one} height={34} radius="sm" />
      ))}
    </Stack>
  );
}
