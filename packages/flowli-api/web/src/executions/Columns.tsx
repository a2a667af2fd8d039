import { ActionIcon, Checkbox, Popover, Stack, Tooltip } from "@mantine/core";
import { Columns3 } from "lucide-react";
import { COLUMNS, type Column } from "./columns";

interface Props {
  chosen: Column[];
  onChange: (columns: Column[]) => void;
}

/** Which columns the table has. */
export function Columns({ chosen, onChange }: Props) {
  return (
    <Popover position="bottom-end" shadow="md" trapFocus>
      <Popover.Target>
        <Tooltip label="Columns">
          <ActionIcon variant="default" size={36} aria-label="Columns" visibleFrom="sm">
            <Columns3 size={16} aria-hidden />
          </ActionIcon>
        </Tooltip>
      </Popover.Target>
      <Popover.Dropdown aria-label="Columns">
        <Checkbox.Group value={chosen} onChange={(value) => onChange(value as Column[])} aria-label="Columns">
          <Stack gap="xs">
            {Object.entries(COLUMNS).map(([name, label]) => (
              <Checkbox key={name} value={name} label={label} />
            ))}
          </Stack>
        </Checkbox.Group>
      </Popover.Dropdown>
    </Popover>
  );
}
