import { Stack } from "@mantine/core";
import { useNavigate } from "react-router";
import { useKeys } from "@/app/useKeys";
import { Loaded } from "@/parts/Loaded";
import { Explain } from "./explain/Explain";
import { Facts } from "./Facts";
import { Head } from "./Head";
import { Tabbed } from "./Tabbed";
import { useLive } from "./useLive";
import { ValuesShown } from "./values/ValuesShown";

/** One execution: where it stands, why, and all that it did. */
export default function ExecutionPage({ eid }: { eid: string }) {
  const { execution, live } = useLive(eid);
  const navigate = useNavigate();
  const back = () => navigate("/executions");
  useKeys({ Escape: back });
  return (
    <Loaded of={execution} rows={8}>
      {(one) => (
        <ValuesShown hidden={one.values_hidden}>
          <Stack gap="md" maw={1400} mx="auto">
            <Head execution={one} live={live} />
            <Facts execution={one} />
            <Explain execution={one} live={live} />
            <Tabbed execution={one} live={live} />
          </Stack>
        </ValuesShown>
      )}
    </Loaded>
  );
}
