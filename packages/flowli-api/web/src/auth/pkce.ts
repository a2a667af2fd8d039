import { notifications } from "@mantine/notifications";
import type { Login } from "@/api/types";
import { keepToken } from "./session";

/** Authorization code with PKCE: no secret is needed, and a code that is overheard opens nothing. */

const KEY = "flowli.login";
interface Endpoints {
  authorization_endpoint: string;
  token_endpoint: string;
}

const home = () => `${window.location.origin}${window.location.pathname}`;

async function endpoints(login: Login): Promise<Endpoints> {
  const response = await fetch(`${login.issuer.replace(/\/$/, "")}/.well-known/openid-configuration`);
  if (!response.ok) throw new Error(`The identity provider answered ${response.status}; try again later.`);
  return (await response.json()) as Endpoints;
}

function encoded(bytes: Uint8Array): string {
  return btoa(String.fromCharCode(...bytes))
    .replace(/\+/g, "-")
    .replace(/\//g, "_")
    .replace(/=+$/, "");
}

const drawn = () => encoded(crypto.getRandomValues(new Uint8Array(32)));

export async function beginLogin(login: Login): Promise<void> {
  const { authorization_endpoint } = await endpoints(login);
  const begun: Started = { state: drawn(), verifier: drawn(), view: window.location.hash };
  window.sessionStorage.setItem(KEY, JSON.stringify(begun));
  const digest = await crypto.subtle.digest("SHA-256", new TextEncoder().encode(begun.verifier));
  const url = new URL(authorization_endpoint);
  const asked = {
    response_type: "code",
    client_id: login.client_id,
    redirect_uri: home(),
    scope: login.scope,
    state: begun.state,
    code_challenge: encoded(new Uint8Array(digest)),
    code_challenge_method: "S256",
    ...(login.audience ? { audience: login.audience } : {}),
  };
  for (const [name, value] of Object.entries(asked)) url.searchParams.set(name, value);
  window.location.assign(url);
}

interface Started {
  state: string;
  verifier: string;
  view: string;
}

let answer: URLSearchParams | null = null;
let started: Started | null = null;

/** Take the provider's answer out of the address, before a view is chosen by it: the one where the login began. */
export function takeAnswerOfAddress(): void {
  const query = new URLSearchParams(window.location.search);
  if (!query.has("state") || !(query.has("code") || query.has("error"))) return;
  const kept = window.sessionStorage.getItem(KEY);
  window.sessionStorage.removeItem(KEY);
  answer = query;
  started = kept ? (JSON.parse(kept) as Started) : null;
  window.history.replaceState(null, "", `${window.location.pathname}${started?.view ?? ""}`);
}

/** Trade the provider's answer for a token; does nothing if there is none. */
export async function finishLogin(login: Login): Promise<void> {
  const query = answer;
  answer = null;
  if (query === null) return;
  try {
    if (query.has("error")) throw new Error(query.get("error_description") ?? query.get("error") ?? "");
    if (started === null || started.state !== query.get("state")) throw new Error("This login was begun elsewhere.");
    keepToken(await traded(login, query.get("code") ?? "", started.verifier));
  } catch (error) {
    const message = error instanceof Error ? error.message : String(error);
    notifications.show({ color: "red", title: "The login did not succeed", message, autoClose: false });
  }
}

async function traded(login: Login, code: string, verifier: string): Promise<string> {
  const { token_endpoint } = await endpoints(login);
  const body = new URLSearchParams({
    grant_type: "authorization_code",
    client_id: login.client_id,
    redirect_uri: home(),
    code,
    code_verifier: verifier,
  });
  const response = await fetch(token_endpoint, { method: "POST", body });
  const given = (await response.json()) as { access_token?: string; error_description?: string };
  if (!given.access_token) throw new Error(given.error_description ?? "The identity provider gave no token.");
  return given.access_token;
}
