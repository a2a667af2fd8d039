import { TextInput } from "@mantine/core";
import { useEffect, useState } from "react";

interface Props {
  label: string;
  value: string;
  onChange: (value: string) => void;
}

const PAUSE_MS = 350;

/** A text that is taken over once nobody types any more. */
export function TextFilter({ label, value, onChange }: Props) {
  const [text, setText] = useState(value);
  const [taken, setTaken] = useState(value);
  if (taken !== value) {
    setTaken(value);
    setText(value);
  }
  useEffect(() => {
    if (text === value) return;
    const timer = window.setTimeout(() => onChange(text.trim()), PAUSE_MS);
    return () => window.clearTimeout(timer);
  });
  return (
    <TextInput
      aria-label={label}
      placeholder={label}
      value={text}
      maxLength={200}
      onChange={(event) => setText(event.currentTarget.value)}
    />
  );
}
