import { useQueryClient } from "@tanstack/react-query";
import { useState } from "react";
import { useExecution } from "@/api/reads";
import { useStream } from "@/api/useStream";
import { useThrottled } from "@/api/useThrottled";

const AT_MOST_EVERY_MS = 300;

/** An execution, and whether news of it come by themselves. Of one that has ended there are none. */
export function useLive(eid: string) {
  const cache = useQueryClient();
  const [ended, setEnded] = useState(false);
  const renew = useThrottled(() => {
    void cache.invalidateQueries({ queryKey: ["v1", "executions", eid] });
  }, AT_MOST_EVERY_MS);
  const streaming = useStream(`v1/executions/${eid}/events`, ({ name }) => {
    if (name === "end") setEnded(true);
    renew();
  });
  const live = streaming || ended;
  const execution = useExecution(eid, live);
  return { execution, live };
}
