import { Button, Text } from "@mantine/core";
import { Eye } from "lucide-react";
import { useState } from "react";
import type { Json } from "@/api/types";
import { JsonView } from "@/parts/JsonView";
import { useValues } from "./ValuesShown";

/** A recorded value, covered until it is asked for. */
export function Value({ value, label }: { value: Json; label: string }) {
  const { hidden, shown } = useValues();
  const [asked, setAsked] = useState(false);
  if (hidden)
    return (
      <Text size="sm" c="dimmed">
        Your token does not permit to see values (values:read).
      </Text>
    );
  if (shown || asked) return <JsonView value={value} label={label} />;
  return (
    <Button size="xs" variant="default" leftSection={<Eye size={13} aria-hidden />} onClick={() => setAsked(true)}>
      Show {label.toLowerCase()}
    </Button>
  );
}
