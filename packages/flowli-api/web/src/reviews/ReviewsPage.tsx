import { Group, SegmentedControl, Stack, Switch } from "@mantine/core";
import { useSearchParams } from "react-router";
import { useRead } from "@/api/reads";
import type { Items, Review } from "@/api/types";
import { Empty } from "@/parts/Empty";
import { Loaded } from "@/parts/Loaded";
import { Page } from "@/parts/Page";
import { ReviewCard } from "./ReviewCard";

const STATES = ["open", "decided", "expired", "all"];
const POLL_MS = 3000;

/** Decisions that people are asked for. */
export function ReviewsPage() {
  const [params, setParams] = useSearchParams();
  const status = params.get("status") ?? "open";
  const mine = params.has("mine");
  const wanted = params.get("review") ?? "";
  const reviews = useRead<Items<Review>>("v1/reviews", {
    query: { status: wanted ? "all" : status, mine: mine || null, limit: 200 },
    pollMs: POLL_MS,
  });

  function change(next: { status?: string; mine?: boolean }) {
    const made = new URLSearchParams({ status: next.status ?? status });
    if (next.mine ?? mine) made.set("mine", "1");
    setParams(made);
  }

  return (
    <Page
      title="Reviews"
      actions={
        <Group gap="md">
          <Switch
            label="Those I may decide"
            checked={mine}
            onChange={(event) => change({ mine: event.currentTarget.checked })}
          />
          <SegmentedControl
            aria-label="State"
            data={STATES}
            value={wanted ? "all" : status}
            onChange={(next) => change({ status: next })}
          />
        </Group>
      }
    >
      <Loaded of={reviews}>
        {({ items }) => {
          const shown = wanted ? items.filter((one) => one.review === wanted) : items;
          if (shown.length === 0)
            return (
              <div className="card">
                <Empty title="Nothing waits for a decision">
                  A workflow asks for one with <code>flowli.patterns.review</code>.
                </Empty>
              </div>
            );
          return (
            <Stack gap="sm">
              {shown.map((one) => (
                <ReviewCard key={one.review} review={one} />
              ))}
            </Stack>
          );
        }}
      </Loaded>
    </Page>
  );
}
