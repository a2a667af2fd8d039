import "@mantine/core/styles.css";
import "@mantine/notifications/styles.css";
import "./theme.css";
import { MantineProvider } from "@mantine/core";
import { Notifications } from "@mantine/notifications";
import { QueryClient, QueryClientProvider } from "@tanstack/react-query";
import { StrictMode } from "react";
import { createRoot } from "react-dom/client";
import { HashRouter } from "react-router";
import { asProblem } from "./api/problem";
import { App } from "./app/App";
import { AuthGate } from "./auth/AuthGate";
import { takeAnswerOfAddress } from "./auth/pkce";
import { takeTokenOfAddress } from "./auth/session";
import { theme } from "./theme";

takeAnswerOfAddress();
takeTokenOfAddress();

const PASSING = new Set([0, 429, 502, 503, 504]);
const queries = new QueryClient({
  defaultOptions: {
    queries: {
      retry: (failures, error) => failures < 2 && PASSING.has(asProblem(error).status),
      refetchOnWindowFocus: true,
      staleTime: 500,
    },
  },
});

const root = document.getElementById("root");
if (root) {
  createRoot(root).render(
    <StrictMode>
      <MantineProvider theme={theme} defaultColorScheme="auto">
        <Notifications position="bottom-right" />
        <QueryClientProvider client={queries}>
          <HashRouter>
            <AuthGate>
              <App />
            </AuthGate>
          </HashRouter>
        </QueryClientProvider>
      </MantineProvider>
    </StrictMode>,
  );
}
