import { Select, SimpleGrid, TextInput } from "@mantine/core";
import type { Given } from "./given";

interface Props {
  given: Given;
  onChange: (change: Partial<Given>) => void;
}

const OVERLAP = [
  { value: "skip", label: "Leave the later one out" },
  { value: "queue", label: "One after another" },
  { value: "cancel_previous", label: "Cancel the earlier one" },
  { value: "allow", label: "Let both run" },
];
const CATCH_UP = [
  { value: "skip", label: "Leave them out" },
  { value: "last", label: "Make up for the last one" },
  { value: "all", label: "Make up for all" },
];

/** What happens where runs overlap or slots are missed, and what is seldom needed. */
export function Policies({ given, onChange }: Props) {
  return (
    <SimpleGrid cols={{ base: 1, xs: 2 }} spacing="sm">
      <Select
        label="While an earlier run goes on"
        data={OVERLAP}
        value={given.overlap}
        allowDeselect={false}
        onChange={(overlap) => overlap && onChange({ overlap })}
      />
      <Select
        label="Slots that were missed"
        data={CATCH_UP}
        value={given.catch_up}
        allowDeselect={false}
        onChange={(catch_up) => catch_up && onChange({ catch_up })}
      />
      <TextInput
        label="Argument that is given the slot"
        placeholder="None"
        value={given.slot_argument}
        onChange={(event) => onChange({ slot_argument: event.currentTarget.value })}
      />
      <TextInput
        label="Queue"
        placeholder="That of the workflow"
        value={given.queue}
        onChange={(event) => onChange({ queue: event.currentTarget.value })}
      />
      <TextInput
        label="Note"
        value={given.note}
        maxLength={1000}
        onChange={(event) => onChange({ note: event.currentTarget.value })}
      />
    </SimpleGrid>
  );
}
