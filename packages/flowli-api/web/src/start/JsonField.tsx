import { JsonInput } from "@mantine/core";
import { useState } from "react";
import type { Json } from "@/api/types";
import type { FieldProps } from "./Field";
import { labelOf } from "./schema";

/** A value that no better field is known for. */
export function JsonField({ name, schema, required, value, onChange }: FieldProps) {
  const [text, setText] = useState(value === undefined ? "" : JSON.stringify(value, null, 2));
  const [wrong, setWrong] = useState("");

  function take(given: string) {
    setText(given);
    try {
      onChange(given.trim() ? (JSON.parse(given) as Json) : undefined);
      setWrong("");
    } catch {
      setWrong("This is no JSON yet.");
    }
  }

  return (
    <JsonInput
      label={labelOf(name, schema)}
      description="JSON"
      required={required}
      autosize
      minRows={3}
      maxRows={16}
      value={text}
      error={wrong}
      onChange={take}
    />
  );
}
