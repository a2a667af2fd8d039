import { useEffect, useState } from "react";
import { useNavigate } from "react-router";
import { useKeys } from "@/app/useKeys";

/** j and k walk through the rows, Enter opens one, x selects it. */
export function useRowKeys(eids: string[], onToggle: ((eid: string) => void) | null): string | null {
  const [current, setCurrent] = useState<string | null>(null);
  const navigate = useNavigate();

  function go(by: number) {
    const at = current === null ? -1 : eids.indexOf(current);
    const next = eids[Math.min(Math.max(at + by, 0), eids.length - 1)];
    if (next) setCurrent(next);
  }

  const open = () => current && navigate(`/executions/${current}`);
  useKeys({
    j: () => go(1),
    k: () => go(-1),
    x: () => current && onToggle?.(current),
    Enter: open,
  });
  useEffect(() => {
    if (current) document.getElementById(`row-${current}`)?.scrollIntoView({ block: "nearest" });
  }, [current]);
  return current;
}
