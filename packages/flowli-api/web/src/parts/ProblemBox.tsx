import { Alert, Button, Group, Text } from "@mantine/core";
import { TriangleAlert } from "lucide-react";
import { asProblem } from "@/api/problem";

/** What went wrong, as the service says it. */
export function ProblemBox({ error, retry }: { error: unknown; retry?: () => void }) {
  const problem = asProblem(error);
  return (
    <Alert color="red" variant="outline" icon={<TriangleAlert size={18} />} title={problem.title} role="alert">
      <Text size="sm">{problem.detail}</Text>
      <Group mt="xs" gap="md">
        {retry && (
          <Button size="xs" variant="default" onClick={retry}>
            Try again
          </Button>
        )}
        {problem.requestId && (
          <Text size="xs" c="dimmed" className="mono">
            request {problem.requestId}
          </Text>
        )}
      </Group>
    </Alert>
  );
}
