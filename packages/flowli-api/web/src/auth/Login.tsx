import { Alert, Button, Center, Divider, PasswordInput, Stack, Text, Title } from "@mantine/core";
import { type FormEvent, useState } from "react";
import { asProblem } from "@/api/problem";
import type { Login as LoginFacts } from "@/api/types";
import { Logo } from "@/app/Logo";
import { beginLogin } from "./pkce";
import { keepToken } from "./session";

/** Log in with the identity provider if the service names one, or with a token. */
export function Login({ login, unreachable }: { login: LoginFacts | null; unreachable: unknown }) {
  const [value, setValue] = useState("");
  const [wrong, setWrong] = useState("");
  const [busy, setBusy] = useState(false);

  async function submit(event: FormEvent) {
    event.preventDefault();
    setBusy(true);
    setWrong(await tried(value.trim()));
    setBusy(false);
  }

  return (
    <Center component="main" mih="100vh" p="md">
      <Stack className="card" p="xl" gap="md" w="100%" maw={400}>
        <Logo />
        <Title order={1} size="h3">
          Log in
        </Title>
        {unreachable ? (
          <Alert color="red" title={asProblem(unreachable).title}>
            {asProblem(unreachable).detail}
          </Alert>
        ) : null}
        {login && (
          <>
            <Button onClick={() => beginLogin(login).catch((error: Error) => setWrong(error.message))}>
              Log in with {new URL(login.issuer).hostname}
            </Button>
            <Divider label="or" />
          </>
        )}
        <form onSubmit={submit}>
          <Stack gap="sm">
            <PasswordInput
              label="Token"
              description="An API key, or the token that flowli dev prints."
              value={value}
              onChange={(event) => setValue(event.currentTarget.value)}
              error={wrong}
              autoComplete="off"
              visibilityToggleButtonProps={{ "aria-label": "Show the token" }}
              data-autofocus
            />
            <Button type="submit" variant={login ? "default" : "filled"} loading={busy} disabled={!value.trim()}>
              Log in
            </Button>
          </Stack>
        </form>
        <Text size="xs" c="dimmed">
          The token stays in this tab and is forgotten when you close it.
        </Text>
      </Stack>
    </Center>
  );
}

async function tried(value: string): Promise<string> {
  const path = `${window.location.pathname.replace(/[^/]*$/, "")}v1/me`;
  try {
    const response = await fetch(path, { headers: { authorization: `Bearer ${value}` } });
    if (!response.ok) return response.status === 401 ? "The service does not know this token." : "Try again later.";
  } catch {
    return "The service cannot be reached.";
  }
  keepToken(value);
  return "";
}
