import { Button, Group, Stack } from "@mantine/core";
import { Plus } from "lucide-react";
import { useState } from "react";
import { Link, useNavigate } from "react-router";
import { useMay } from "@/api/may";
import { useKeys } from "@/app/useKeys";
import { Empty } from "@/parts/Empty";
import { LiveMark } from "@/parts/LiveMark";
import { Loaded } from "@/parts/Loaded";
import { Page } from "@/parts/Page";
import { BulkBar } from "./BulkBar";
import { Columns } from "./Columns";
import { useColumns } from "./columns";
import { ExecutionTable } from "./ExecutionTable";
import { FilterBar } from "./FilterBar";
import { anyFilter, useFilters } from "./filters";
import { Pager } from "./Pager";
import { SavedViews } from "./SavedViews";
import { StatusFilter } from "./StatusFilter";
import { useExecutions } from "./useExecutions";

/** All executions, the newest first. */
export function ExecutionsPage() {
  const [filters, change] = useFilters();
  const { page, counts, live } = useExecutions(filters);
  const [columns, setColumns] = useColumns();
  const [selected, setSelected] = useState<ReadonlySet<string>>(new Set());
  const navigate = useNavigate();
  const may = useMay();
  useKeys({ n: () => navigate("/start") });
  const shown = page.data?.items.map((one) => one.eid) ?? [];
  const chosen = shown.filter((eid) => selected.has(eid));

  return (
    <Page
      title="Executions"
      actions={
        <Group gap="xs">
          <LiveMark live={live} />
          <SavedViews />
          <Columns chosen={columns} onChange={setColumns} />
          {may("executions:start") && (
            <Button component={Link} to="/start" leftSection={<Plus size={16} aria-hidden />}>
              Start
            </Button>
          )}
        </Group>
      }
    >
      <Stack gap="sm">
        <StatusFilter counts={counts} chosen={filters.status} onChange={(status) => change({ status })} />
        <FilterBar filters={filters} onChange={change} />
        {chosen.length > 0 && <BulkBar eids={chosen} onDone={() => setSelected(new Set())} />}
        <Loaded of={page} rows={10}>
          {({ items, next_cursor }) => (
            <>
              {items.length === 0 ? (
                <div className="card">
                  <Nothing filtered={anyFilter(filters)} />
                </div>
              ) : (
                <ExecutionTable items={items} columns={columns} selected={selected} onSelect={setSelected} />
              )}
              <Pager cursor={filters.cursor} next={next_cursor} onGo={(cursor) => change({ cursor })} />
            </>
          )}
        </Loaded>
      </Stack>
    </Page>
  );
}

function Nothing({ filtered }: { filtered: boolean }) {
  if (filtered) return <Empty title="No execution fits">Take a condition away, or look at all of them.</Empty>;
  return (
    <Empty title="Nothing has run yet">
      <Link className="link" to="/start">
        Start an execution
      </Link>{" "}
      here, with <code>flowli start</code>, or from your program.
    </Empty>
  );
}
