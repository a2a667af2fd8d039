import { Select, Stack } from "@mantine/core";
import { useNavigate, useParams } from "react-router";
import { useWorkflows } from "@/api/reads";
import { Empty } from "@/parts/Empty";
import { Loaded } from "@/parts/Loaded";
import { Page } from "@/parts/Page";
import { StartForm } from "./StartForm";

/** Start an execution: choose a workflow, fill in its arguments. */
export function StartPage() {
  const { workflow = "" } = useParams();
  const navigate = useNavigate();
  const workflows = useWorkflows();
  return (
    <Page title="Start an execution">
      <Loaded of={workflows}>
        {({ items }) => {
          const names = [...new Set(items.map((one) => one.name))];
          const versions = items.filter((one) => one.name === workflow);
          if (names.length === 0)
            return (
              <div className="card">
                <Empty title="This service knows no workflow">
                  Serve it with <code>--app module:registry</code>, so that it knows the workflows of your application.
                </Empty>
              </div>
            );
          return (
            <Stack maw={640} gap="md">
              <Select
                label="Workflow"
                placeholder="Choose"
                searchable
                data={names}
                value={workflow || null}
                onChange={(name) => navigate(`/start/${name ?? ""}`, { replace: true })}
              />
              {versions.length > 0 && <StartForm key={workflow} versions={versions} />}
            </Stack>
          );
        }}
      </Loaded>
    </Page>
  );
}
