import { Button, ScrollArea, Text } from "@mantine/core";
import { Eye } from "lucide-react";
import { useState } from "react";
import type { Shown } from "@/api/types";
import { useStream } from "@/api/useStream";
import { clock } from "@/parts/times";
import classes from "./StreamView.module.css";
import { Value } from "./Value";
import { useValues } from "./ValuesShown";

const KEPT = 1000;

/** A stream as it is written, the newest at the end. */
export function StreamView({ eid, name }: { eid: string; name: string }) {
  const { hidden } = useValues();
  const [asked, setAsked] = useState(false);
  if (hidden) return <Value value={null} label={name} />;
  // only on demand: each keeps a connection, of which a browser has few
  if (asked) return <Items eid={eid} name={name} />;
  return (
    <Button size="xs" variant="default" leftSection={<Eye size={13} aria-hidden />} onClick={() => setAsked(true)}>
      Show {name}
    </Button>
  );
}

function Items({ eid, name }: { eid: string; name: string }) {
  const [items, setItems] = useState<ReadonlyMap<number, Shown>>(new Map());
  useStream(`v1/executions/${eid}/streams/${name}/events`, (event) => {
    if (event.name !== "item") return;
    const one = event.data as Shown;
    // one that comes again has its number
    setItems((known) => new Map([...known, [one.number, one] as const].slice(-KEPT)));
  });
  if (items.size === 0)
    return (
      <Text size="sm" c="dimmed">
        Nothing is written yet.
      </Text>
    );
  return (
    <ScrollArea.Autosize mah={360} type="auto">
      <ol className={classes.items} aria-live="polite">
        {[...items.values()].map((one) => (
          <li key={one.number}>
            <time dateTime={one.at}>{clock(one.at)}</time>
            <code>{typeof one.value === "string" ? one.value : JSON.stringify(one.value)}</code>
          </li>
        ))}
      </ol>
    </ScrollArea.Autosize>
  );
}
