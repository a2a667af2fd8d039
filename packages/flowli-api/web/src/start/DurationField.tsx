import { TextInput } from "@mantine/core";
import { useState } from "react";
import { duration } from "@/parts/times";
import { recorded, secondsOf } from "./durations";
import type { FieldProps } from "./Field";
import { labelOf, resolved } from "./schema";

/** A duration, written as people write it. */
export function DurationField({ name, schema, root, required, value, onChange }: FieldProps) {
  const standard = resolved(schema, root).default;
  const usual = typeof standard === "string" ? secondsOf(standard) : null;
  const [text, setText] = useState(typeof value === "string" ? value : "");
  const wrong = text.trim() !== "" && secondsOf(text) === null;

  function take(given: string) {
    setText(given);
    const seconds = secondsOf(given);
    // what is no duration is sent as it stands, so that the service can say what is wrong with it
    onChange(seconds === null ? given.trim() || undefined : recorded(seconds));
  }

  return (
    <TextInput
      label={labelOf(name, schema)}
      description="Like 15 min, 2 h 30 min or 2 d"
      placeholder={usual === null ? "" : duration(usual)}
      required={required}
      value={text}
      error={wrong ? "This is no duration." : null}
      onChange={(event) => take(event.currentTarget.value)}
    />
  );
}
