import { Button, Group, Modal, Stack, Text, TextInput } from "@mantine/core";
import { type FormEvent, useState } from "react";
import { useNavigate } from "react-router";
import type { Answered, Execution, Written } from "@/api/types";
import { useWrite } from "@/api/writes";
import { JsonView } from "@/parts/JsonView";
import { ProblemBox } from "@/parts/ProblemBox";
import { VerbFields } from "./VerbFields";
import { VERBS, type Verb, type VerbName } from "./verbs";
import { bodyOf, type Given, pathOf } from "./written";

interface Props {
  verb: VerbName;
  execution: Execution;
  channel?: string | undefined;
  fid?: string | undefined;
  onClose: () => void;
}

/** Asks for what a verb needs, and does it. */
export function VerbDialog({ verb, execution, channel = "", fid = "", onClose }: Props) {
  const { label, does, hard, makes }: Verb = VERBS[verb];
  const navigate = useNavigate();
  const [given, setGiven] = useState<Given>({ reason: "", channel, payload: "null", fid, version: "", again: false });
  const [wrong, setWrong] = useState("");
  const write = useWrite<Written | Answered>({
    done: verb === "update" ? "" : `${label}: done`,
    quiet: true,
    onDone: ({ eid }) => {
      if (verb === "update") return;
      onClose();
      if (makes && eid) navigate(`/executions/${eid}`);
    },
  });

  function submit(event: FormEvent) {
    event.preventDefault();
    const made = bodyOf(verb, given);
    setWrong(typeof made === "string" ? made : "");
    if (typeof made !== "string") write.mutate({ path: pathOf(verb, execution.eid), body: made });
  }

  return (
    <Modal opened onClose={onClose} title={`${label}: ${execution.workflow}`}>
      <form onSubmit={submit}>
        <Stack gap="sm">
          <Text size="sm">{does}</Text>
          {write.isError && <ProblemBox error={write.error} />}
          <VerbFields verb={verb} execution={execution} given={given} wrong={wrong} onChange={setGiven} />
          {verb !== "signal" && verb !== "update" && (
            <TextInput
              label="Reason"
              description="It stands in the audit."
              value={given.reason}
              maxLength={1000}
              onChange={(event) => setGiven({ ...given, reason: event.currentTarget.value })}
            />
          )}
          {write.data && "answered" in write.data && <Answer answer={write.data} />}
          <Group justify="flex-end">
            <Button variant="default" onClick={onClose}>
              Close
            </Button>
            <Button type="submit" color={hard ? "red" : undefined} loading={write.isPending}>
              {label}
            </Button>
          </Group>
        </Stack>
      </form>
    </Modal>
  );
}

function Answer({ answer: { answered, value } }: { answer: Answered }) {
  if (!answered)
    return <Text size="sm">There is no answer yet. The update stays; its answer comes when it is taken up.</Text>;
  return (
    <div role="status">
      <Text size="sm" mb={4}>
        The answer:
      </Text>
      <JsonView value={value} label="Answer" />
    </div>
  );
}
