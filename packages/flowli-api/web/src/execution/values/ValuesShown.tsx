import { createContext, type ReactNode, useContext, useState } from "react";

interface Shown {
  /** The service does not give them to this caller. */
  hidden: boolean;
  shown: boolean;
  show: (shown: boolean) => void;
}

const Context = createContext<Shown>({ hidden: true, shown: false, show: () => undefined });

/** Values are covered until somebody asks for them: they may hold what bystanders should not see. */
export function ValuesShown({ hidden, children }: { hidden: boolean; children: ReactNode }) {
  const [shown, show] = useState(false);
  return <Context value={{ hidden, shown, show }}>{children}</Context>;
}

export const useValues = (): Shown => useContext(Context);
