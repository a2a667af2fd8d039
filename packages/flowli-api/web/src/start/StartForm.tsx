import { Button, Group, Stack, Text } from "@mantine/core";
import { type FormEvent, useState } from "react";
import { useNavigate } from "react-router";
import type { Json, Workflow, Written } from "@/api/types";
import { useWrite } from "@/api/writes";
import { ProblemBox } from "@/parts/ProblemBox";
import { Field } from "./Field";
import { Options, type OptionValues, optionsOf } from "./Options";
import { initial } from "./schema";

/** The arguments of a workflow, and how it is started. */
export function StartForm({ versions }: { versions: Workflow[] }) {
  const newest = versions.find((one) => one.latest) ?? versions[0];
  const [options, setOptions] = useState<OptionValues>({ version: newest?.version ?? "", key: "", queue: "" });
  const workflow = versions.find((one) => one.version === options.version) ?? newest;
  const schema = workflow?.arguments ?? {};
  const [given, setGiven] = useState<Json | undefined>(() => initial(schema, schema));
  const navigate = useNavigate();
  const write = useWrite<Written>({
    done: "Started",
    quiet: true,
    onDone: ({ eid }) => eid && navigate(`/executions/${eid}`),
  });

  function submit(event: FormEvent) {
    event.preventDefault();
    const body = { workflow: workflow?.name, kwargs: given ?? {}, ...optionsOf(options) };
    write.mutate({ path: "v1/executions", body });
  }

  return (
    <form onSubmit={submit}>
      <Stack className="card" p="md" gap="md">
        {workflow?.doc && (
          <Text size="sm" c="dimmed">
            {workflow.doc}
          </Text>
        )}
        <Field
          key={workflow?.version}
          name=""
          schema={schema}
          root={schema}
          required
          value={given}
          onChange={setGiven}
        />
        <Options
          versions={versions.map((one) => one.version)}
          queue={workflow?.queue ?? ""}
          given={options}
          onChange={setOptions}
        />
        {write.isError && <ProblemBox error={write.error} />}
        <Group justify="flex-end">
          <Button type="submit" loading={write.isPending}>
            Start
          </Button>
        </Group>
      </Stack>
    </form>
  );
}
