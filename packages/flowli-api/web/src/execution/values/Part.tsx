import { Title } from "@mantine/core";
import type { ReactNode } from "react";

/** Some values under a name. */
export function Part({ title, children }: { title: string; children: ReactNode }) {
  return (
    <section aria-label={title}>
      <Title order={2} size="h6" mb={6}>
        {title}
      </Title>
      {children}
    </section>
  );
}
