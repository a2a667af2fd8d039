import { Button } from "@mantine/core";
import { useState } from "react";
import { Link } from "react-router";
import { useMay } from "@/api/may";
import type { Execution, NextAction } from "@/api/types";
import { VerbDialog } from "../dialogs/VerbDialog";
import { isVerb, VERBS } from "../dialogs/verbs";
import { CommandButton } from "./CommandButton";
import { placeOf } from "./places";

interface Props {
  action: NextAction;
  execution: Execution;
  /** It is what most people will want. */
  main: boolean;
}

/** An action that the engine suggests: a dialog or a view for what this interface can do, a command for the rest. */
export function ActionButton({ action, execution, main }: Props) {
  const [open, setOpen] = useState(false);
  const may = useMay();
  const { verb, text, command } = action;
  const label = text.charAt(0).toUpperCase() + text.slice(1);
  const variant = main ? "filled" : "default";
  const [, , target, name] = command.split(" ");
  const mine = isVerb(verb) && target === execution.eid;
  const place = isVerb(verb) && !mine ? `/executions/${target}` : placeOf(action);

  // it is seen to go on here
  if (verb === "watch") return null;
  if (place !== null)
    return (
      <Button component={Link} to={place} size="xs" variant={variant}>
        {label}
      </Button>
    );
  if (!mine) return <CommandButton label={label} command={command} />;
  if (!may(VERBS[verb].needs)) return null;
  return (
    <>
      <Button size="xs" variant={variant} onClick={() => setOpen(true)}>
        {label}
      </Button>
      {open && (
        <VerbDialog
          verb={verb}
          execution={execution}
          channel={verb === "signal" || verb === "update" ? name : undefined}
          onClose={() => setOpen(false)}
        />
      )}
    </>
  );
}
