import { ActionIcon, Kbd, Modal, Table, Tooltip } from "@mantine/core";
import { useDisclosure } from "@mantine/hooks";
import { Keyboard } from "lucide-react";
import { useKeys } from "./useKeys";

const KEYS: [string[], string][] = [
  [["/"], "Find executions"],
  [["j", "k"], "Next and previous row"],
  [["Enter"], "Open the row"],
  [["x"], "Select the row"],
  [["Esc"], "Back to the list; close a dialog"],
  [["n"], "Start an execution"],
  [["?"], "This list"],
];

export function HelpDialog() {
  const [open, { open: show, close }] = useDisclosure(false);
  useKeys({ "?": show });
  return (
    <>
      <Tooltip label="Keyboard">
        <ActionIcon variant="subtle" color="gray" size="lg" aria-label="Keyboard" onClick={show} visibleFrom="sm">
          <Keyboard size={18} aria-hidden />
        </ActionIcon>
      </Tooltip>
      <Modal opened={open} onClose={close} title="Keyboard">
        <Table>
          <Table.Tbody>
            {KEYS.map(([keys, does]) => (
              <Table.Tr key={does}>
                <Table.Td w={110}>
                  {keys.map((one) => (
                    <Kbd key={one} mr={4}>
                      {one}
                    </Kbd>
                  ))}
                </Table.Td>
                <Table.Td>{does}</Table.Td>
              </Table.Tr>
            ))}
          </Table.Tbody>
        </Table>
      </Modal>
    </>
  );
}
