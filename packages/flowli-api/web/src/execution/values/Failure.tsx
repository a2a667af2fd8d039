import { Text } from "@mantine/core";
import type { Failure as FailureData } from "@/api/types";
import { CodeView } from "@/parts/CodeView";
import classes from "./Failure.module.css";

/** An error with its traceback. */
export function Failure({ error }: { error: FailureData }) {
  return (
    <div className={classes.box}>
      <Text size="sm" fw={600} component="div" style={{ overflowWrap: "anywhere" }}>
        <span className={classes.type}>{error.type.replace(/^builtins\./, "")}</span>: {error.message}
      </Text>
      {error.traceback && (
        <details className={classes.more}>
          <summary>Traceback</summary>
          <CodeView text={error.traceback} label="Traceback" />
        </details>
      )}
    </div>
  );
}
