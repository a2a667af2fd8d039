import { Select, SimpleGrid, Text, Textarea, TextInput } from "@mantine/core";
import type { Given } from "./given";

interface Props {
  given: Given;
  onChange: (change: Partial<Given>) => void;
}

const KINDS = [
  { value: "cron", label: "By a cron expression" },
  { value: "every", label: "At a fixed distance" },
  { value: "at", label: "At single instants" },
  { value: "ticks", label: "When a tick comes from outside" },
] as const;
const ZONES = Intl.supportedValuesOf("timeZone");

/** When it is due. */
export function WhenFields({ given, onChange }: Props) {
  return (
    <>
      <Select
        label="When"
        data={KINDS}
        value={given.kind}
        allowDeselect={false}
        onChange={(kind) => kind && onChange({ kind })}
      />
      {given.kind === "cron" && (
        <SimpleGrid cols={{ base: 1, xs: 2 }} spacing="sm">
          <TextInput
            label="Expression"
            description="Minute, hour, day, month, weekday"
            required
            value={given.expression}
            onChange={(event) => onChange({ expression: event.currentTarget.value })}
          />
          <Select
            label="Time zone"
            description="Whose clock it follows"
            searchable
            limit={50}
            data={[...new Set(["UTC", given.zone, ...ZONES])]}
            value={given.zone}
            allowDeselect={false}
            onChange={(zone) => zone && onChange({ zone })}
          />
        </SimpleGrid>
      )}
      {given.kind === "every" && (
        <TextInput
          label="Distance"
          description="Like 15 min, 2 h 30 min or 2 d"
          required
          value={given.every}
          onChange={(event) => onChange({ every: event.currentTarget.value })}
        />
      )}
      {given.kind === "at" && (
        <Textarea
          label="Instants"
          description="One on each line, like 2026-12-24T18:00:00+01:00; without a zone it is yours"
          required
          autosize
          minRows={2}
          maxRows={10}
          value={given.instants}
          onChange={(event) => onChange({ instants: event.currentTarget.value })}
        />
      )}
      {given.kind === "ticks" && (
        <Text size="sm" c="dimmed">
          An external scheduler delivers each tick: POST /v1/schedules/{given.id || "NAME"}/tick.
        </Text>
      )}
    </>
  );
}
