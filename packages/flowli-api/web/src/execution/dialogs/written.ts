import type { Json } from "@/api/types";
import type { VerbName } from "./verbs";

/** What somebody has filled in. */
export interface Given {
  reason: string;
  /** Of a message; the name of an update. */
  channel: string;
  payload: string;
  fid: string;
  version: string;
  /** Steps that are marked irreversible may be run again. */
  again: boolean;
}

export const pathOf = (verb: VerbName, eid: string): string =>
  `v1/executions/${eid}/${verb === "signal" || verb === "update" ? `${verb}s` : verb}`;

/** The body of a verb; or, as a text, what is wrong with what was filled in. */
export function bodyOf(verb: VerbName, given: Given): { [name: string]: Json } | string {
  const { reason, again } = given;
  switch (verb) {
    case "signal":
    case "update":
      try {
        const payload = JSON.parse(given.payload) as Json;
        return verb === "signal" ? { channel: given.channel, payload } : { name: given.channel, payload };
      } catch (error) {
        return `This is no JSON: ${error instanceof Error ? error.message : String(error)}`;
      }
    case "migrate":
      return given.version ? { reason, version: given.version } : "Choose a version.";
    case "fork":
      return given.fid ? { reason, from_fid: given.fid, allow_irreversible: again } : "Choose a frame.";
    case "replay":
      return { reason, allow_irreversible: again, ...(given.version ? { version: given.version } : {}) };
    case "retry":
      return { reason, allow_irreversible: again };
    default:
      return { reason };
  }
}
