import { Group } from "@mantine/core";
import { Link } from "react-router";
import { CopyIcon } from "./CopyIcon";

/** The end of an id differs most: ids begin with the time they were made. */
export const short = (eid: string): string => `…${eid.slice(-8)}`;

interface Props {
  eid: string;
  link?: boolean;
  copy?: boolean;
}

/** An id of an execution, shortened, with a copy button. */
export function ShortId({ eid, link = true, copy = true }: Props) {
  return (
    <Group gap={2} wrap="nowrap" component="span" display="inline-flex">
      {link ? (
        <Link className="link mono" to={`/executions/${eid}`} title={eid}>
          {short(eid)}
        </Link>
      ) : (
        <span className="mono" title={eid}>
          {short(eid)}
        </span>
      )}
      {copy && <CopyIcon value={eid} label="Copy the id" />}
    </Group>
  );
}
