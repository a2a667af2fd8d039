import { ActionIcon, Button, Group, Popover, Stack, Text, TextInput } from "@mantine/core";
import { useLocalStorage } from "@mantine/hooks";
import { Bookmark, Trash2 } from "lucide-react";
import { type FormEvent, useState } from "react";
import { Link, useSearchParams } from "react-router";

interface View {
  name: string;
  search: string;
}

/** Filters under a name, kept in this browser. */
export function SavedViews() {
  const [views, setViews] = useLocalStorage<View[]>({ key: "flowli.views", defaultValue: [] });
  const [params] = useSearchParams();
  const [name, setName] = useState("");

  function save(event: FormEvent) {
    event.preventDefault();
    const kept = new URLSearchParams(params);
    kept.delete("cursor");
    setViews([...views.filter((one) => one.name !== name), { name, search: kept.toString() }]);
    setName("");
  }

  return (
    <Popover position="bottom-end" shadow="md" width={280} trapFocus>
      <Popover.Target>
        <Button variant="default" leftSection={<Bookmark size={15} aria-hidden />}>
          Views
        </Button>
      </Popover.Target>
      <Popover.Dropdown aria-label="Saved views">
        <Stack gap="xs">
          {views.length === 0 && (
            <Text size="sm" c="dimmed">
              Save the filters as they are now under a name.
            </Text>
          )}
          {views.map((one) => (
            <Group key={one.name} justify="space-between" wrap="nowrap">
              <Link className="link" to={`/executions?${one.search}`}>
                {one.name}
              </Link>
              <ActionIcon
                variant="subtle"
                color="gray"
                aria-label={`Remove ${one.name}`}
                onClick={() => setViews(views.filter((view) => view !== one))}
              >
                <Trash2 size={14} aria-hidden />
              </ActionIcon>
            </Group>
          ))}
          <form onSubmit={save}>
            <Group gap="xs" wrap="nowrap">
              <TextInput
                aria-label="Name of the view"
                placeholder="Name"
                value={name}
                maxLength={60}
                onChange={(event) => setName(event.currentTarget.value)}
              />
              <Button type="submit" disabled={!name.trim()}>
                Save
              </Button>
            </Group>
          </form>
        </Stack>
      </Popover.Dropdown>
    </Popover>
  );
}
