import { Center, Loader } from "@mantine/core";
import { useQueryClient } from "@tanstack/react-query";
import { type ReactNode, useEffect, useSyncExternalStore } from "react";
import { useConfig } from "@/api/reads";
import { Login } from "./Login";
import { finishLogin } from "./pkce";
import { onToken, token } from "./session";

/** Shows what is inside to whoever has a token, and the login to everybody else. */
export function AuthGate({ children }: { children: ReactNode }) {
  const mine = useSyncExternalStore(onToken, token);
  const cache = useQueryClient();
  const config = useConfig();
  const login = config.data?.oidc ?? null;
  useEffect(() => {
    if (mine === null) cache.removeQueries({ predicate: (one) => one.queryKey[0] !== "config" });
  }, [mine, cache]);
  useEffect(() => {
    if (login) void finishLogin(login);
  }, [login]);
  if (mine !== null) return children;
  if (config.isPending)
    return (
      <Center h="100vh">
        <Loader aria-label="Loading" />
      </Center>
    );
  return <Login login={login} unreachable={config.error} />;
}
