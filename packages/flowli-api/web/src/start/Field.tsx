import { Checkbox, NumberInput, Select, TextInput } from "@mantine/core";
import type { Json } from "@/api/types";
import { ArrayField } from "./ArrayField";
import { DurationField } from "./DurationField";
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
  const { name, schema, root, required, onChange } = props;
  const kind = kindOf(schema, root);
  const shown = { label: labelOf(name, schema), description: describedBy(resolved(schema, root)), required };
  const standard = resolved(schema, root).default;
  const value = props.value === undefined && kind.kind !== "text" ? standard : props.value;
  const text = typeof value === "string" || typeof value === "number" ? String(value) : "";
  switch (kind.kind) {
    case "object":
      return <ObjectField {...props} value={value} kind={kind} />;
    case "array":
      return <ArrayField {...props} value={value} items={kind.items} />;
    case "duration":
      return <DurationField {...props} />;
    case "json":
      return <JsonField {...props} value={value} />;
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
          placeholder={kind.kind === "moment" ? "2026-01-31T12:00:00Z" : typeof standard === "string" ? standard : ""}
          value={text}
          onChange={(event) => onChange(event.currentTarget.value || (required ? "" : undefined))}
        />
      );
  }
}

function describedBy(schema: Schema): string | undefined {
  return typeof schema.description === "string" ? schema.description : undefined;
}
