import { AppShell, Burger, Group } from "@mantine/core";
import { type ReactNode, useState } from "react";
import { useLocation } from "react-router";
import { Account } from "./Account";
import { HelpDialog } from "./HelpDialog";
import { Logo } from "./Logo";
import { Nav } from "./Nav";
import { SchemeToggle } from "./SchemeToggle";
import { SearchBox } from "./SearchBox";
import classes from "./Shell.module.css";

/** Menu, header and the view. */
export function Shell({ children }: { children: ReactNode }) {
  const { pathname } = useLocation();
  const [openAt, setOpenAt] = useState<string | null>(null);
  // the menu of a phone is closed once another view is shown
  const open = openAt === pathname;
  const toggle = () => setOpenAt(open ? null : pathname);
  return (
    <AppShell
      header={{ height: 56 }}
      navbar={{ width: 216, breakpoint: "sm", collapsed: { mobile: !open } }}
      padding={{ base: "sm", sm: "lg" }}
    >
      <button type="button" className={classes.skip} onClick={toContent}>
        To the content
      </button>
      <AppShell.Header className={classes.bar}>
        <Group h="100%" px="md" gap="sm" wrap="nowrap" justify="space-between">
          <Group gap="xs" wrap="nowrap">
            <Burger opened={open} onClick={toggle} hiddenFrom="sm" size="sm" aria-label="Menu" aria-expanded={open} />
            <Logo />
          </Group>
          <SearchBox />
          <Group gap={4} wrap="nowrap">
            <HelpDialog />
            <SchemeToggle />
            <Account />
          </Group>
        </Group>
      </AppShell.Header>
      <AppShell.Navbar aria-label="Views" className={classes.bar} p="xs">
        <Nav />
      </AppShell.Navbar>
      <AppShell.Main id="main" tabIndex={-1} className={classes.main}>
        {children}
      </AppShell.Main>
    </AppShell>
  );
}

function toContent() {
  document.getElementById("main")?.focus();
}
