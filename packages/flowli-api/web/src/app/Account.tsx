import { ActionIcon, Menu, Text } from "@mantine/core";
import { CircleUser, LogOut } from "lucide-react";
import { useMe } from "@/api/reads";
import { dropToken } from "@/auth/session";

/** Who is logged in, and the way out. */
export function Account() {
  const { data } = useMe();
  return (
    <Menu>
      <Menu.Target>
        <ActionIcon variant="subtle" color="gray" size="lg" aria-label="Account">
          <CircleUser size={19} aria-hidden />
        </ActionIcon>
      </Menu.Target>
      <Menu.Dropdown>
        <Menu.Label>
          <Text size="sm">{data?.name || data?.actor || "…"}</Text>
          <Text size="xs" c="dimmed">
            {data?.capabilities.join(", ")}
          </Text>
        </Menu.Label>
        <Menu.Divider />
        <Menu.Item leftSection={<LogOut size={15} aria-hidden />} onClick={dropToken}>
          Log out
        </Menu.Item>
      </Menu.Dropdown>
    </Menu>
  );
}
