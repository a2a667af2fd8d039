import { Tabs } from "@mantine/core";
import { lazy, Suspense } from "react";
import { useNavigate, useParams } from "react-router";
import { useMay } from "@/api/may";
import type { Execution } from "@/api/types";
import { Loading } from "@/parts/Loading";
import { Children } from "./Children";
import { Frames } from "./frames/Frames";
import { Audit } from "./history/Audit";
import { Happened } from "./history/Happened";
import { Journal } from "./history/Journal";
import { Logs } from "./logs/Logs";
import classes from "./Tabbed.module.css";
import { Values } from "./values/Values";

const GraphView = lazy(() => import("./graph/GraphView"));

interface Props {
  execution: Execution;
  live: boolean;
}

/** What an execution did, seen from all sides. The address says from which. */
export function Tabbed({ execution, live }: Props) {
  const { tab = "frames" } = useParams();
  const navigate = useNavigate();
  const may = useMay();
  const { eid } = execution;
  const tabs = {
    frames: ["Frames", <Frames key="frames" execution={execution} live={live} />],
    graph: ["Graph", <GraphView key="graph" eid={eid} live={live} />],
    timeline: ["What happened", <Happened key="timeline" eid={eid} live={live} />],
    values: ["Values", <Values key="values" execution={execution} live={live} />],
    ...(may("evidence:read") && { logs: ["Logs", <Logs key="logs" execution={execution} />] }),
    children: ["Children", <Children key="children" eid={eid} live={live} />],
    journal: ["Journal", <Journal key="journal" eid={eid} live={live} />],
    audit: ["Audit", <Audit key="audit" eid={eid} live={live} />],
  } as const;
  return (
    <Tabs
      value={tab in tabs ? tab : "frames"}
      onChange={(value) => navigate(`/executions/${eid}/${value}`, { replace: true })}
      keepMounted={false}
    >
      <Tabs.List className={classes.list ?? ""}>
        {Object.entries(tabs).map(([name, [label]]) => (
          <Tabs.Tab key={name} value={name}>
            {label}
          </Tabs.Tab>
        ))}
      </Tabs.List>
      {Object.entries(tabs).map(([name, [, view]]) => (
        <Tabs.Panel key={name} value={name} pt="sm">
          <Suspense fallback={<Loading rows={4} />}>{view}</Suspense>
        </Tabs.Panel>
      ))}
    </Tabs>
  );
}
