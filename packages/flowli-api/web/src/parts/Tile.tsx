import { Box, Text } from "@mantine/core";
import type { ReactNode } from "react";

/** One fact with its name above it. */
export function Tile({ label, children }: { label: string; children: ReactNode }) {
  return (
    <Box miw={0}>
      <Text size="xs" c="dimmed" component="dt">
        {label}
      </Text>
      <Text size="sm" component="dd" m={0} style={{ overflowWrap: "anywhere" }}>
        {children}
      </Text>
    </Box>
  );
}
