import { Stack } from "@mantine/core";
import { Activity, Boxes, CalendarClock, ClipboardCheck, ListTree, type LucideIcon, Workflow } from "lucide-react";
import { NavLink } from "react-router";
import { useMay } from "@/api/may";
import { useConfig, useRead } from "@/api/reads";
import type { DeadTask, Items, Review } from "@/api/types";
import classes from "./Shell.module.css";

interface Place {
  to: string;
  label: string;
  icon: LucideIcon;
  count?: number | undefined;
  bad?: boolean;
}

const SLOW_MS = 15_000;

/** The views that the caller may see and the service has. */
export function Nav() {
  const may = useMay();
  const plugins = useConfig().data?.plugins ?? [];
  const reviews = plugins.includes("reviews") && may("reviews:read");
  const queues = may("queues:read");
  const open = useRead<Items<Review>>("v1/reviews", { query: { limit: 200 }, enabled: reviews, pollMs: SLOW_MS });
  const dead = useRead<Items<DeadTask>>("v1/dead-letters", { enabled: queues, pollMs: SLOW_MS });
  const places: Place[] = [
    { to: "/executions", label: "Executions", icon: ListTree },
    ...(reviews ? [{ to: "/reviews", label: "Reviews", icon: ClipboardCheck, count: open.data?.items.length }] : []),
    ...(queues ? [{ to: "/queues", label: "Queues", icon: Boxes, count: dead.data?.items.length, bad: true }] : []),
    ...(plugins.includes("schedules") ? [{ to: "/schedules", label: "Schedules", icon: CalendarClock }] : []),
    ...(may("workflows:read") ? [{ to: "/workflows", label: "Workflows", icon: Workflow }] : []),
    ...(queues ? [{ to: "/system", label: "System", icon: Activity }] : []),
  ];
  return (
    <Stack gap={2}>
      {places.map(({ to, label, icon: Icon, count, bad }) => (
        <NavLink key={to} to={to} className={classes.item ?? ""}>
          <Icon size={17} aria-hidden />
          {label}
          {count ? (
            <span className={classes.count} data-bad={bad || undefined}>
              {count}
            </span>
          ) : null}
        </NavLink>
      ))}
    </Stack>
  );
}
