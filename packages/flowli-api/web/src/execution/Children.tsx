import { useRead } from "@/api/reads";
import type { ExecutionSummary, Items } from "@/api/types";
import type { Column } from "@/executions/columns";
import { ExecutionTable } from "@/executions/ExecutionTable";
import { Empty } from "@/parts/Empty";
import { Loaded } from "@/parts/Loaded";

const COLUMNS: Column[] = ["detail", "started", "duration"];

export function Children({ eid, live }: { eid: string; live: boolean }) {
  const children = useRead<Items<ExecutionSummary>>(`v1/executions/${eid}/children`, { live });
  return (
    <Loaded of={children}>
      {({ items }) =>
        items.length ? (
          <ExecutionTable items={items} columns={COLUMNS} />
        ) : (
          <div className="card">
            <Empty title="No children">This execution has started no other ones.</Empty>
          </div>
        )
      }
    </Loaded>
  );
}
