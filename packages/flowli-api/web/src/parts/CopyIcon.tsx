import { ActionIcon, CopyButton } from "@mantine/core";
import { Check, Copy } from "lucide-react";

export function CopyIcon({ value, label }: { value: string; label: string }) {
  return (
    <CopyButton value={value}>
      {({ copied, copy }) => (
        <ActionIcon
          size="sm"
          variant="subtle"
          color="gray"
          aria-label={label}
          title={copied ? "Copied" : label}
          onClick={(event) => {
            event.stopPropagation();
            copy();
          }}
        >
          {copied ? <Check size={13} aria-hidden /> : <Copy size={13} aria-hidden />}
        </ActionIcon>
      )}
    </CopyButton>
  );
}
