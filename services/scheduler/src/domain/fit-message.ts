import type { Rejection } from '../framework/plugin.ts';

export const NO_NODES = 'no nodes available to schedule pods';

/** `0/3 nodes are available: 1 Insufficient cpu, 2 node(s) were unschedulable.` */
export function fitMessage(nodes: number, rejections: Iterable<Pick<Rejection, 'reasons'>>): string {
  const counts = new Map<string, number>();
  for (const { reasons } of rejections) {
    for (const reason of reasons) counts.set(reason, (counts.get(reason) ?? 0) + 1);
  }
  const lines = Array.from(counts, ([reason, count]) => `${count} ${reason}`).sort((a, b) => (a < b ? -1 : 1));
  return `0/${nodes} nodes are available${lines.length === 0 ? '' : `: ${lines.join(', ')}`}.`;
}
