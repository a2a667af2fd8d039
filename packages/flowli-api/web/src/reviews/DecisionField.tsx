import { Checkbox, NumberInput, Select, TextInput } from "@mantine/core";
import type { FormField, Json } from "@/api/types";

interface Props {
  field: FormField;
  value: Json | undefined;
  onChange: (value: Json | undefined) => void;
}

/** One field of a decision. */
export function DecisionField({ field, value, onChange }: Props) {
  const words = field.name.replace(/_/g, " ");
  const label = words.charAt(0).toUpperCase() + words.slice(1);
  const required = field.required && !field.nullable;
  const nothing = field.required && field.nullable ? null : undefined;
  switch (field.kind) {
    case "flag":
      return (
        <Checkbox label={label} checked={value === true} onChange={(event) => onChange(event.currentTarget.checked)} />
      );
    case "choice":
      return (
        <Select
          label={label}
          required={required}
          data={field.choices}
          value={typeof value === "string" ? value : null}
          onChange={(chosen) => onChange(chosen ?? nothing)}
          clearable={!required}
        />
      );
    case "integer":
    case "number":
      return (
        <NumberInput
          label={label}
          required={required}
          allowDecimal={field.kind === "number"}
          value={typeof value === "number" ? value : ""}
          onChange={(given) => onChange(typeof given === "number" ? given : nothing)}
        />
      );
    default:
      return (
        <TextInput
          label={label}
          required={required}
          type={field.kind === "date" ? "date" : "text"}
          inputMode={field.kind === "decimal" ? "decimal" : undefined}
          value={typeof value === "string" ? value : ""}
          onChange={(event) => onChange(event.currentTarget.value || nothing)}
        />
      );
  }
}
