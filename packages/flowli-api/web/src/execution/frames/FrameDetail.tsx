import { Button, Group, SimpleGrid, Stack } from "@mantine/core";
import { useState } from "react";
import { useMay } from "@/api/may";
import type { Execution, TreeNode } from "@/api/types";
import { ShortId } from "@/parts/ShortId";
import { Tile } from "@/parts/Tile";
import { When } from "@/parts/When";
import { waitText } from "@/parts/waits";
import { VerbDialog } from "../dialogs/VerbDialog";
import { ended } from "../ended";
import { Failure } from "../values/Failure";
import { Value } from "../values/Value";
import { Attempts } from "./Attempts";

/** All that is known of one frame. */
export function FrameDetail({ node, execution }: { node: TreeNode; execution: Execution }) {
  const [forking, setForking] = useState(false);
  const may = useMay();
  return (
    <Stack p="sm" pl={38} gap="sm">
      <SimpleGrid component="dl" cols={{ base: 1, xs: 2, md: 4 }} spacing="xs" m={0}>
        <Tile label="Frame">
          <span className="mono">{node.fid}</span>
        </Tile>
        <Tile label="Began">
          <When at={node.started_at} as="local" />
        </Tile>
        {node.ended_at && (
          <Tile label="Ended">
            <When at={node.ended_at} as="local" />
          </Tile>
        )}
        {node.waits_on && <Tile label="Waits for">{waitText(node.waits_on)}</Tile>}
        {node.deadline && (
          <Tile label="Until">
            <When at={node.deadline} as="local" />
          </Tile>
        )}
        {node.child && (
          <Tile label="Child">
            <ShortId eid={node.child} />
          </Tile>
        )}
        {node.why && <Tile label="Why">{node.why}</Tile>}
      </SimpleGrid>
      {node.attempts.length > 1 ? <Attempts attempts={node.attempts} /> : node.error && <Failure error={node.error} />}
      <Group gap="xs" align="flex-start">
        {node.status === "completed" && node.kind !== null && <Value value={node.value} label="Value" />}
        {node.kind !== null && ended(execution.status) && may("executions:operate") && (
          <Button size="xs" variant="default" onClick={() => setForking(true)}>
            Fork from here…
          </Button>
        )}
      </Group>
      {forking && <VerbDialog verb="fork" execution={execution} fid={node.fid} onClose={() => setForking(false)} />}
    </Stack>
  );
}
