import { NumberInput, Select, SimpleGrid, TextInput } from "@mantine/core";

export interface OptionValues {
  version: string;
  key: string;
  queue: string;
  priority?: number | undefined;
  timeout_s?: number | undefined;
}

interface Props {
  versions: string[];
  /** Of the workflow, if no other one is given. */
  queue: string;
  given: OptionValues;
  onChange: (given: OptionValues) => void;
}

/** What is seldom needed: key, version, queue, priority, timeout. */
export function Options({ versions, queue, given, onChange }: Props) {
  const set = (change: Partial<OptionValues>) => onChange({ ...given, ...change });
  const number = (value: string | number) => (typeof value === "number" ? value : undefined);
  return (
    <details>
      <summary style={{ cursor: "pointer", fontSize: 14 }}>Key, version, queue, priority, timeout</summary>
      <SimpleGrid cols={{ base: 1, xs: 2 }} pt="sm" spacing="sm">
        <TextInput
          label="Business key"
          description="Two starts with one key are one execution"
          value={given.key}
          maxLength={200}
          onChange={(event) => set({ key: event.currentTarget.value })}
        />
        <Select
          label="Version"
          description="Of the workflow"
          data={versions}
          value={given.version}
          allowDeselect={false}
          onChange={(version) => set({ version: version ?? "" })}
        />
        <TextInput
          label="Queue"
          placeholder={queue}
          value={given.queue}
          onChange={(event) => set({ queue: event.currentTarget.value })}
        />
        <NumberInput
          label="Priority, 0 first"
          min={0}
          max={99}
          allowDecimal={false}
          value={given.priority ?? ""}
          onChange={(value) => set({ priority: number(value) })}
        />
        <NumberInput
          label="Timeout in seconds"
          min={1}
          value={given.timeout_s ?? ""}
          onChange={(value) => set({ timeout_s: number(value) })}
        />
      </SimpleGrid>
    </details>
  );
}

/** The fields of the request; those that were left empty are not sent. */
export function optionsOf(given: OptionValues): Partial<OptionValues> {
  return Object.fromEntries(Object.entries(given).filter(([, value]) => value !== "" && value !== undefined));
}
