import { Stack, Text } from "@mantine/core";
import { Inbox } from "lucide-react";
import type { ReactNode } from "react";

/** There is nothing; what can be done about it. */
export function Empty({ title, children }: { title: string; children?: ReactNode }) {
  return (
    <Stack align="center" gap={6} py={48} px="md">
      <Inbox size={30} strokeWidth={1.5} aria-hidden color="var(--mantine-color-dimmed)" />
      <Text fw={600}>{title}</Text>
      <Text size="sm" c="dimmed" ta="center" component="div">
        {children}
      </Text>
    </Stack>
  );
}
