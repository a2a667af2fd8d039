import { Button, Group } from "@mantine/core";
import { useInfiniteQuery } from "@tanstack/react-query";
import { useSearchParams } from "react-router";
import { get } from "@/api/client";
import { polling } from "@/api/reads";
import type { JournalPage } from "@/api/types";
import { Empty } from "@/parts/Empty";
import { Loading } from "@/parts/Loading";
import { ProblemBox } from "@/parts/ProblemBox";
import { EntryRow } from "./EntryRow";
import classes from "./history.module.css";

const PAGE = 200;

/** The journal itself: what stands in the bucket. */
export function Journal({ eid, live }: { eid: string; live: boolean }) {
  const [params] = useSearchParams();
  const marked = Number(params.get("seq"));
  const path = `v1/executions/${eid}/journal`;
  const journal = useInfiniteQuery({
    queryKey: [...path.split("/"), { limit: PAGE }],
    queryFn: ({ pageParam, signal }) => get<JournalPage>(path, { after: pageParam, limit: PAGE }, signal),
    initialPageParam: Math.max(0, marked - PAGE / 2),
    getNextPageParam: (page) => page.next_after,
    refetchInterval: polling(live),
  });
  if (journal.isError) return <ProblemBox error={journal.error} retry={() => void journal.refetch()} />;
  if (!journal.data) return <Loading />;
  const entries = journal.data.pages.flatMap((page) => page.entries);
  return (
    <div className="card">
      {entries.length === 0 && <Empty title="The journal is empty">No worker has taken it yet.</Empty>}
      <ol className={classes.list}>
        {entries.map((one) => (
          <EntryRow key={one.seq} entry={one} marked={one.seq === marked} />
        ))}
      </ol>
      {journal.hasNextPage && (
        <Group justify="center" p="sm">
          <Button
            size="xs"
            variant="default"
            loading={journal.isFetchingNextPage}
            onClick={() => void journal.fetchNextPage()}
          >
            More entries
          </Button>
        </Group>
      )}
    </div>
  );
}
