import { Fieldset, Stack, Text } from "@mantine/core";
import type { JsonObject } from "@/api/types";
import { Field, type FieldProps } from "./Field";
import { type Kind, labelOf, resolved } from "./schema";

/** The fields of an object, one below the other. */
export function ObjectField({ kind, ...props }: FieldProps & { kind: Extract<Kind, { kind: "object" }> }) {
  const { name, schema, root, value, onChange } = props;
  const given: JsonObject = typeof value === "object" && value !== null && !Array.isArray(value) ? value : {};
  const { description } = resolved(schema, root);
  const fields = (
    <Stack gap="sm">
      {typeof description === "string" && name && (
        <Text size="xs" c="dimmed">
          {description}
        </Text>
      )}
      {kind.properties.map(([field, one]) => (
        <Field
          key={field}
          name={field}
          schema={one}
          root={root}
          required={kind.required.has(field)}
          value={given[field]}
          onChange={(next) => {
            const { [field]: _, ...rest } = given;
            onChange(next === undefined ? rest : { ...given, [field]: next });
          }}
        />
      ))}
    </Stack>
  );
  return name ? <Fieldset legend={labelOf(name, schema)}>{fields}</Fieldset> : fields;
}
