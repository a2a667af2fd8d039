import type { Status } from "@/api/types";

const ENDED: ReadonlySet<Status> = new Set(["completed", "failed", "cancelled"]);

export const ended = (status: Status): boolean => ENDED.has(status);
