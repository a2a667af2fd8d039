/** The token of this tab. It is gone with the tab, and never in an address that others could be given. */

const KEY = "flowli.token";
const listeners = new Set<() => void>();

export function token(): string | null {
  return window.sessionStorage.getItem(KEY);
}

export function keepToken(value: string): void {
  window.sessionStorage.setItem(KEY, value);
  for (const tell of listeners) tell();
}

export function dropToken(): void {
  if (token() === null) return;
  window.sessionStorage.removeItem(KEY);
  for (const tell of listeners) tell();
}

export function onToken(tell: () => void): () => void {
  listeners.add(tell);
  return () => listeners.delete(tell);
}

/** Take over the token of a one-time address (`#token=...`), and remove it from the address bar and the history. */
export function takeTokenOfAddress(): void {
  const found = /^#token=(.+)$/.exec(window.location.hash);
  if (!found?.[1]) return;
  keepToken(decodeURIComponent(found[1]));
  window.history.replaceState(null, "", `${window.location.pathname}${window.location.search}#/`);
}
