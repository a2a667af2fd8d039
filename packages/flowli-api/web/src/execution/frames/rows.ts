import type { TreeNode } from "@/api/types";

/** A frame as a row: how deep it stands, and where its bar lies. */
export interface Row {
  node: TreeNode;
  depth: number;
  /** Of the whole, from 0 to 100. */
  left: number;
  width: number;
}

export interface Span {
  from: number;
  to: number;
}

export function spanOf(nodes: TreeNode[], from: number, now: number): Span {
  const ends = nodes.map((one) => (one.ended_at ? Date.parse(one.ended_at) : now));
  const starts = nodes.map((one) => Date.parse(one.started_at));
  const least = Math.min(from, ...starts);
  return { from: least, to: Math.max(least + 1, ...ends) };
}

export function rowsOf(nodes: TreeNode[], span: Span, now: number, depth = 0): Row[] {
  const whole = span.to - span.from;
  return nodes.flatMap((node) => {
    const starts = Date.parse(node.started_at);
    const ends = node.ended_at ? Date.parse(node.ended_at) : Math.max(now, starts);
    const left = (100 * (starts - span.from)) / whole;
    const width = (100 * (ends - starts)) / whole;
    return [{ node, depth, left, width }, ...rowsOf(node.frames, span, now, depth + 1)];
  });
}
