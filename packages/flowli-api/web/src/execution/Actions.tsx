import { ActionIcon, Button, Group, Menu } from "@mantine/core";
import { EllipsisVertical } from "lucide-react";
import { useState } from "react";
import { useMay } from "@/api/may";
import type { Execution } from "@/api/types";
import { VerbDialog } from "./dialogs/VerbDialog";
import { fitting, VERBS, type Verb, type VerbName } from "./dialogs/verbs";

const FIRST: ReadonlySet<VerbName> = new Set(["pause", "resume", "retry", "replay", "cancel"]);

/** The verbs that fit, those used often as buttons. */
export function Actions({ execution }: { execution: Execution }) {
  const [verb, setVerb] = useState<VerbName | null>(null);
  const may = useMay();
  const names = fitting(execution).filter((one) => may(VERBS[one].needs));
  if (names.length === 0) return null;
  return (
    <Group gap="xs">
      {names
        .filter((one) => FIRST.has(one))
        .map((one) => (
          <Button key={one} size="xs" variant="default" onClick={() => setVerb(one)}>
            {VERBS[one].label}
          </Button>
        ))}
      <Menu>
        <Menu.Target>
          <ActionIcon variant="default" size={30} aria-label="More actions">
            <EllipsisVertical size={16} aria-hidden />
          </ActionIcon>
        </Menu.Target>
        <Menu.Dropdown>
          {names
            .filter((one) => !FIRST.has(one))
            .map((one) => {
              const { label, hard }: Verb = VERBS[one];
              return (
                <Menu.Item key={one} c={hard ? "var(--bad-text)" : undefined} onClick={() => setVerb(one)}>
                  {label}…
                </Menu.Item>
              );
            })}
        </Menu.Dropdown>
      </Menu>
      {verb && <VerbDialog verb={verb} execution={execution} onClose={() => setVerb(null)} />}
    </Group>
  );
}
