import { Checkbox, JsonInput, Select, TextInput } from "@mantine/core";
import { useRead, useWorkflows } from "@/api/reads";
import type { Execution, Tree, TreeNode } from "@/api/types";
import type { VerbName } from "./verbs";
import type { Given } from "./written";

interface Props {
  verb: VerbName;
  execution: Execution;
  given: Given;
  wrong: string;
  onChange: (given: Given) => void;
}

/** The fields that only some verbs have. */
export function VerbFields({ verb, execution, given, wrong, onChange }: Props) {
  const versions = (useWorkflows().data?.items ?? [])
    .filter((one) => one.name === execution.workflow)
    .map((one) => one.version);
  const set = (change: Partial<Given>) => onChange({ ...given, ...change });
  return (
    <>
      {(verb === "signal" || verb === "update") && (
        <>
          <TextInput
            label={verb === "signal" ? "Channel" : "Name of the update"}
            required
            value={given.channel}
            onChange={(event) => set({ channel: event.currentTarget.value })}
          />
          <JsonInput
            label={verb === "signal" ? "Message" : "Question"}
            description="JSON, like {&quot;approved&quot;: true}"
            autosize
            minRows={4}
            maxRows={14}
            formatOnBlur
            value={given.payload}
            error={wrong}
            onChange={(payload) => set({ payload })}
          />
        </>
      )}
      {(verb === "migrate" || verb === "replay") && (
        <Select
          label="Version"
          required={verb === "migrate"}
          placeholder={verb === "replay" ? "The same as before" : ""}
          data={verb === "migrate" ? versions.filter((one) => one !== execution.version) : versions}
          nothingFoundMessage="The service knows no other version"
          value={given.version || null}
          error={verb === "migrate" ? wrong : ""}
          onChange={(version) => set({ version: version ?? "" })}
        />
      )}
      {verb === "fork" && (
        <FrameSelect eid={execution.eid} value={given.fid} wrong={wrong} onChange={(fid) => set({ fid })} />
      )}
      {(verb === "fork" || verb === "retry" || verb === "replay") && (
        <Checkbox
          label="Steps that are marked irreversible may run again"
          checked={given.again}
          onChange={(event) => set({ again: event.currentTarget.checked })}
        />
      )}
    </>
  );
}

interface FrameProps {
  eid: string;
  value: string;
  wrong: string;
  onChange: (fid: string) => void;
}

function FrameSelect({ eid, value, wrong, onChange }: FrameProps) {
  const tree = useRead<Tree>(`v1/executions/${eid}/tree`);
  return (
    <Select
      label="From frame"
      description="It and all after it are run anew."
      required
      searchable
      data={fids(tree.data?.frames ?? [])}
      value={value || null}
      error={wrong}
      onChange={(fid) => onChange(fid ?? "")}
    />
  );
}

function fids(nodes: TreeNode[]): string[] {
  return nodes.flatMap((one) => [...(one.kind ? [one.fid] : []), ...fids(one.frames)]);
}
