import { Group, Text } from "@mantine/core";
import { Link } from "react-router";

const MOVES: Record<string, string> = {
  nobody: "Nothing will move it by itself",
  itself: "It goes on by itself",
  outside: "Somebody outside has the next move",
  operator: "An operator has the next move",
};

/** Who has the next move, and the journal entries that prove what is said. */
export function Proof({ eid, moves, seqs }: { eid: string; moves: string; seqs: number[] }) {
  return (
    <Group gap={10}>
      <Text size="xs" c="dimmed">
        {MOVES[moves] ?? moves}
      </Text>
      {seqs.length > 0 && (
        <Text size="xs" c="dimmed" component="span">
          Evidence:{" "}
          {seqs.map((seq, place) => (
            <span key={seq}>
              {place > 0 && ", "}
              <Link className="link" to={`/executions/${eid}/journal?seq=${seq}`}>
                entry {seq}
              </Link>
            </span>
          ))}
        </Text>
      )}
    </Group>
  );
}
