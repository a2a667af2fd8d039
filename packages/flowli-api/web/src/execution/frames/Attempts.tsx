import { Stack, Text } from "@mantine/core";
import type { Attempt } from "@/api/types";
import { duration } from "@/parts/times";
import { When } from "@/parts/When";
import { Failure } from "../values/Failure";

/** Each attempt of a frame, the last one first. */
export function Attempts({ attempts }: { attempts: Attempt[] }) {
  return (
    <Stack gap={6} component="ol" p={0} m={0} style={{ listStyle: "none" }}>
      {attempts.toReversed().map((one) => (
        <li key={`${one.number} ${one.started_at}`}>
          <Text size="sm" component="div">
            Attempt {one.number} · <When at={one.started_at} as="clock" /> ·{" "}
            {one.ended_at ? duration(one.took_s) : "under way"}
          </Text>
          {one.error && <Failure error={one.error} />}
        </li>
      ))}
    </Stack>
  );
}
