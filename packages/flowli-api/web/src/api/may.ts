import { useMe } from "./reads";

/** Whether the caller has a capability; `name:*` and `admin` count. */
export function useMay(): (capability: string) => boolean {
  const { data } = useMe();
  const mine = new Set(data?.capabilities ?? []);
  return (wanted) => {
    if (mine.has("admin") || mine.has(wanted)) return true;
    const prefix = wanted.slice(0, wanted.lastIndexOf(":") + 1);
    return mine.has(`${prefix}*`) || (wanted.endsWith(":*") && [...mine].some((one) => one.startsWith(prefix)));
  };
}
