import { Button, Group } from "@mantine/core";
import { ChevronLeft, ChevronRight } from "lucide-react";
import { useNavigate } from "react-router";

interface Props {
  cursor: string;
  next: string | null;
  onGo: (cursor: string) => void;
}

/** Pages follow each other by cursor; the browser's way back is the page before. */
export function Pager({ cursor, next, onGo }: Props) {
  const navigate = useNavigate();
  if (!cursor && !next) return null;
  return (
    <Group justify="flex-end" gap="xs">
      {cursor && (
        <>
          <Button variant="subtle" color="gray" onClick={() => onGo("")}>
            Newest
          </Button>
          <Button variant="default" leftSection={<ChevronLeft size={15} aria-hidden />} onClick={() => navigate(-1)}>
            Back
          </Button>
        </>
      )}
      <Button
        variant="default"
        rightSection={<ChevronRight size={15} aria-hidden />}
        disabled={!next}
        onClick={() => next && onGo(next)}
      >
        Next page
      </Button>
    </Group>
  );
}
