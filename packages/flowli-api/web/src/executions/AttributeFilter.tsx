import { TagsInput } from "@mantine/core";

interface Props {
  value: string[];
  onChange: (value: string[]) => void;
}

/** Conditions on attributes, each as `name:value`. */
export function AttributeFilter({ value, onChange }: Props) {
  return (
    <TagsInput
      aria-label="Attributes, like region:eu"
      placeholder={value.length ? "" : "Attributes, like region:eu"}
      value={value}
      onChange={(given) => onChange(given.filter((one) => /^[^:]+:.+$/.test(one)))}
      maxTags={20}
      clearable
    />
  );
}
