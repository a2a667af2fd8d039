import { Button, CopyButton, Tooltip } from "@mantine/core";
import { Terminal } from "lucide-react";
import { useState } from "react";
import { Link } from "react-router";
import { useMay } from "@/api/may";
import type { Execution, NextAction } from "@/api/types";
import { VerbDialog } from "../dialogs/VerbDialog";
import { isVerb, VERBS } from "../dialogs/verbs";

const UUID = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/;

interface Props {
  action: NextAction;
  execution: Execution;
  /** It is what most people will want. */
  main: boolean;
}

/** An action that the engine suggests: a dialog for what this interface can do, a command to copy for the rest. */
export function ActionButton({ action, execution, main }: Props) {
  const variant = main ? "filled" : "default";
  const [open, setOpen] = useState(false);
  const may = useMay();
  const { verb, text, command } = action;
  const label = text.charAt(0).toUpperCase() + text.slice(1);
  const words = command.split(" ");
  const target = words[2] ?? "";

  if (verb === "decide" || verb === "reviews") {
    const to = verb === "decide" ? `/reviews?review=${encodeURIComponent(target)}` : "/reviews";
    return (
      <Button component={Link} to={to} size="xs" variant={variant}>
        {label}
      </Button>
    );
  }
  if (isVerb(verb) && UUID.test(target)) {
    if (!may(VERBS[verb].needs)) return null;
    if (target !== execution.eid)
      return (
        <Button component={Link} to={`/executions/${target}`} size="xs" variant="default">
          {label}
        </Button>
      );
    const channel = verb === "signal" ? words[3] : undefined;
    return (
      <>
        <Button size="xs" variant={variant} onClick={() => setOpen(true)}>
          {label}
        </Button>
        {open && <VerbDialog verb={verb} execution={execution} channel={channel} onClose={() => setOpen(false)} />}
      </>
    );
  }
  return (
    <CopyButton value={command}>
      {({ copied, copy }) => (
        <Tooltip label={command}>
          <Button size="xs" variant="default" onClick={copy} leftSection={<Terminal size={13} aria-hidden />}>
            {copied ? "Command copied" : label}
          </Button>
        </Tooltip>
      )}
    </CopyButton>
  );
}
