import { Checkbox, NumberInput, Select, TextInput } from "@mantine/core";
import type { Json } from "@/api/types";
import { ArrayField } from "./ArrayField";
import { JsonField } from "./JsonField";
import { ObjectField } from "./ObjectField";
import { kindOf, labelOf, resolved, type Schema } from "./schema";

export interface FieldProps {
  name: string;
  schema: Schema;
  root: Schema;
  required: boolean;
  value: Json | undefined;
  onChange: (value: Json | undefined) => void;
}

/** One value of a form, asked for as its schema says. */
export function Field(props: FieldProps) {
  const { name, schema, root, required, value, onChange } = props;
  const kind = kindOf(schema, root);
  const shown = { label: labelOf(name, schema), description: describedBy(resolved(schema, root)), required };
  const text = typeof value === "string" || typeof value === "number" ? String(value) : "";
  switch (kind.kind) {
    case "object":
      return <ObjectField {...props} kind={kind} />;
    case "array":
      return <ArrayField {...props} items={kind.items} />;
    case "json":
      return <JsonField {...props} />;
    case "flag":
      return (
        <Checkbox
          label={shown.label}
          description={shown.description}
          checked={value === true}
          onChange={(event) => onChange(event.currentTarget.checked)}
        />
      );
    case "choice":
      return (
        <Select
          {...shown}
          data={kind.choices.map(String)}
          value={value === undefined || value === null ? null : String(value)}
          onChange={(chosen) => onChange(kind.choices.find((one) => String(one) === chosen))}
          clearable={!required}
        />
      );
    case "number":
    case "integer":
      return (
        <NumberInput
          {...shown}
          value={typeof value === "number" ? value : ""}
          allowDecimal={kind.kind === "number"}
          onChange={(given) => onChange(typeof given === "number" ? given : undefined)}
        />
      );
    default:
      return (
        <TextInput
          {...shown}
          type={kind.kind === "date" ? "date" : "text"}
          placeholder={kind.kind === "moment" ? "2026-01-31T12:00:00Z" : ""}
          value={text}
          onChange={(event) => onChange(event.currentTarget.value || (required ? "" : undefined))}
        />
      );
  }
}

function describedBy(schema: Schema): string | undefined {
  if (typeof schema.description === "string") return schema.description;
  return schema.format === "duration" ? "A duration like PT15M, PT2H or P2D" : undefined;
}
