import { ActionIcon, Box, Button, Fieldset, Group, Stack } from "@mantine/core";
import { Plus, X } from "lucide-react";
import { Field, type FieldProps } from "./Field";
import { initial, labelOf, type Schema } from "./schema";

/** Values one below the other. */
export function ArrayField({ items, ...props }: FieldProps & { items: Schema }) {
  const { name, schema, root, value, onChange } = props;
  const given = Array.isArray(value) ? value : [];
  const rows = given.map((one, place) => ({ one, place, id: `item ${place}` }));
  return (
    <Fieldset legend={labelOf(name, schema)}>
      <Stack gap="xs">
        {rows.map(({ one, place, id }) => (
          <Group key={id} gap="xs" align="flex-end" wrap="nowrap">
            <Box flex={1}>
              <Field
                name={`${place + 1}`}
                schema={{ ...items, title: `${labelOf(name, schema)} ${place + 1}` }}
                root={root}
                required
                value={one}
                onChange={(next) => onChange(given.with(place, next ?? null))}
              />
            </Box>
            <ActionIcon
              variant="default"
              size={36}
              aria-label={`Remove ${labelOf(name, schema)} ${place + 1}`}
              onClick={() => onChange(given.toSpliced(place, 1))}
            >
              <X size={15} aria-hidden />
            </ActionIcon>
          </Group>
        ))}
        <Group>
          <Button
            size="xs"
            variant="default"
            leftSection={<Plus size={14} aria-hidden />}
            onClick={() => onChange([...given, initial(items, root) ?? ""])}
          >
            Add
          </Button>
        </Group>
      </Stack>
    </Fieldset>
  );
}
