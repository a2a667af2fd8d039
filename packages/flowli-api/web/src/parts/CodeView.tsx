import { Box } from "@mantine/core";
import { CopyIcon } from "./CopyIcon";

/** A text as it is, which can be scrolled by keyboard and copied. */
export function CodeView({ text, label }: { text: string; label: string }) {
  return (
    <Box pos="relative">
      <div className="code" role="group" aria-label={label} tabIndex={0}>
        {text}
      </div>
      <Box pos="absolute" top={6} right={6}>
        <CopyIcon value={text} label={`Copy: ${label}`} />
      </Box>
    </Box>
  );
}
