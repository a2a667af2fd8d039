import { Button, Fieldset, Group, Modal, Select, Stack, Text, TextInput } from "@mantine/core";
import { type FormEvent, useState } from "react";
import { useWorkflows } from "@/api/reads";
import { useWrite } from "@/api/writes";
import { ProblemBox } from "@/parts/ProblemBox";
import { Field } from "@/start/Field";
import { initial } from "@/start/schema";
import { bodyOf, type Given, givenOf } from "./given";
import { Policies } from "./Policies";
import type { Schedule } from "./types";
import { WhenFields } from "./WhenFields";

interface Props {
  /** That is changed; null for a new one. */
  schedule: Schedule | null;
  onClose: () => void;
}

/** What is started when, and with which arguments. */
export function ScheduleDialog({ schedule, onClose }: Props) {
  const [given, setGiven] = useState<Given>(() => givenOf(schedule));
  const [wrong, setWrong] = useState("");
  const workflows = useWorkflows().data?.items ?? [];
  const names = [...new Set([...workflows.map((one) => one.name), given.workflow])].filter(Boolean);
  const versions = workflows.filter((one) => one.name === given.workflow);
  const schema = (versions.find((one) => one.latest) ?? versions[0])?.arguments;
  const write = useWrite({ done: schedule ? "Changed" : "Added", quiet: true, onDone: onClose });
  const set = (change: Partial<Given>) => setGiven({ ...given, ...change });

  function submit(event: FormEvent) {
    event.preventDefault();
    const body = bodyOf(given, schedule);
    setWrong(typeof body === "string" ? body : "");
    if (typeof body === "string") return;
    if (schedule) write.mutate({ path: `v1/schedules/${schedule.id}`, body, method: "PATCH" });
    else write.mutate({ path: "v1/schedules", body });
  }

  return (
    <Modal opened onClose={onClose} title={schedule ? `Schedule ${schedule.id}` : "New schedule"} size="lg">
      <form onSubmit={submit}>
        <Stack gap="sm">
          {schedule === null && (
            <>
              <TextInput
                label="Name"
                description="Letters, digits, _ and -"
                required
                pattern="[A-Za-z0-9_\-]{1,100}"
                value={given.id}
                onChange={(event) => set({ id: event.currentTarget.value })}
              />
              <Select
                label="Workflow"
                required
                searchable
                data={names}
                value={given.workflow || null}
                onChange={(workflow) => {
                  const found = workflows.find((one) => one.name === workflow && one.latest)?.arguments;
                  set({ workflow: workflow ?? "", kwargs: found && initial(found, found) });
                }}
              />
            </>
          )}
          <WhenFields given={given} onChange={set} />
          {schema && hasFields(schema) && (
            <Fieldset legend="Arguments">
              <Field
                key={given.workflow}
                name=""
                schema={schema}
                root={schema}
                required
                value={given.kwargs}
                onChange={(kwargs) => set({ kwargs })}
              />
            </Fieldset>
          )}
          <Policies given={given} onChange={set} />
          {wrong && (
            <Text size="sm" c="var(--bad-text)" role="alert">
              {wrong}
            </Text>
          )}
          {write.isError && <ProblemBox error={write.error} />}
          <Group justify="flex-end">
            <Button variant="default" onClick={onClose}>
              Close
            </Button>
            <Button type="submit" loading={write.isPending}>
              {schedule ? "Change" : "Add"}
            </Button>
          </Group>
        </Stack>
      </form>
    </Modal>
  );
}

const hasFields = ({ properties }: { [name: string]: unknown }): boolean =>
  typeof properties === "object" && properties !== null && Object.keys(properties).length > 0;
