import { Box, Group, Title } from "@mantine/core";
import { type ReactNode, useEffect } from "react";

interface Props {
  title: string;
  actions?: ReactNode;
  children: ReactNode;
}

/** A view with its title. */
export function Page({ title, actions, children }: Props) {
  useEffect(() => {
    document.title = `${title} · flowli`;
  }, [title]);
  return (
    <Box maw={1400} mx="auto">
      <Group justify="space-between" mb="md" gap="xs">
        <Title order={1} size="h3">
          {title}
        </Title>
        {actions}
      </Group>
      {children}
    </Box>
  );
}
