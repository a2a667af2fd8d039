import { Button, CopyButton, Tooltip } from "@mantine/core";
import { Terminal } from "lucide-react";

/** Something that only a command line can do: the command to copy. */
export function CommandButton({ label, command }: { label: string; command: string }) {
  return (
    <CopyButton value={command}>
      {({ copied, copy }) => (
        <Tooltip label={<span className="mono">{command}</span>}>
          <Button
            size="xs"
            variant="default"
            onClick={copy}
            leftSection={<Terminal size={13} aria-hidden />}
            aria-label={`${label}: copy the command`}
          >
            {copied ? "Command copied" : label}
          </Button>
        </Tooltip>
      )}
    </CopyButton>
  );
}
