import type { Json } from "@/api/types";
import { CodeView } from "./CodeView";

/** A value as it is recorded. */
export function JsonView({ value, label }: { value: Json; label: string }) {
  return <CodeView text={JSON.stringify(value, null, 2)} label={label} />;
}
