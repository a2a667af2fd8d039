import { Button, Menu } from "@mantine/core";
import { ListChecks } from "lucide-react";
import { useState } from "react";
import { useMay } from "@/api/may";
import type { BulkAction } from "@/api/types";
import { ACTIONS } from "./BulkBar";
import { BulkDialog } from "./BulkDialog";
import { bulkFilterOf, type Filters } from "./filters";

/** What can be done with all that fit the filters, on this page or not. */
export function BulkMenu({ filters }: { filters: Filters }) {
  const [action, setAction] = useState<BulkAction | null>(null);
  const may = useMay();
  const actions = ACTIONS.filter(({ needs }) => may(needs));
  if (actions.length === 0) return null;
  return (
    <>
      <Menu position="bottom-end">
        <Menu.Target>
          <Button variant="default" leftSection={<ListChecks size={15} aria-hidden />}>
            All that fit
          </Button>
        </Menu.Target>
        <Menu.Dropdown>
          {actions.map((one) => (
            <Menu.Item
              key={one.action}
              c={one.action === "cancel" ? "var(--bad-text)" : undefined}
              onClick={() => setAction(one.action)}
            >
              {one.label} all…
            </Menu.Item>
          ))}
        </Menu.Dropdown>
      </Menu>
      {action && (
        <BulkDialog
          action={action}
          target={{ filter: bulkFilterOf(filters) }}
          onClose={() => setAction(null)}
          onDone={() => undefined}
        />
      )}
    </>
  );
}
