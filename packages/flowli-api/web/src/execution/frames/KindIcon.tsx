import { Braces, CircleDot, Cog, GitBranch, type LucideIcon, Mail, Timer } from "lucide-react";

const ICONS: Record<string, [LucideIcon, string]> = {
  step: [Cog, "step"],
  child: [GitBranch, "child"],
  receive: [Mail, "receive"],
  sleep: [Timer, "sleep"],
  effect: [CircleDot, "effect"],
};

/** What kind of frame it is; a scope that holds frames has none. */
export function KindIcon({ kind }: { kind: string | null }) {
  const [Icon, label] = (kind && ICONS[kind]) || [Braces, "scope"];
  return <Icon size={14} role="img" aria-label={label} style={{ flex: "none", opacity: 0.75 }} />;
}
