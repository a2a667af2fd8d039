import { notifications } from "@mantine/notifications";
import { useMutation, useQueryClient } from "@tanstack/react-query";
import { type Method, send } from "./client";
import { asProblem } from "./problem";

interface Write {
  path: string;
  body?: unknown;
  method?: Method;
}

interface Options<T> {
  /** What to say once it is done; nothing if absent. */
  done?: string;
  onDone?: (answer: T) => void;
  /** The caller shows what went wrong itself. */
  quiet?: boolean;
}

/** Write something, then read anew whatever is shown. */
export function useWrite<T>({ done, onDone, quiet = false }: Options<T> = {}) {
  const cache = useQueryClient();
  return useMutation<T, unknown, Write>({
    mutationFn: ({ path, body, method }) => send<T>(path, body, method),
    onSuccess: (answer) => {
      void cache.invalidateQueries({ queryKey: ["v1"] });
      if (done) notifications.show({ color: "teal", message: done });
      onDone?.(answer);
    },
    onError: (error) => {
      const problem = asProblem(error);
      if (!quiet) notifications.show({ color: "red", title: problem.title, message: problem.detail });
    },
  });
}
