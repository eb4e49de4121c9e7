import type { Rejection } from '../framework/plugin.ts';
import type { Refusal } from './schedule.ts';

export const NO_NODES = 'no nodes available to schedule pods';

/** `0/3 nodes are available: 1 Insufficient cpu, 2 node(s) were unschedulable.` */
export function fitMessage(nodes: number, refusal: Pick<Refusal, 'rejections' | 'others' | 'podReason'>): string {
  const head = `0/${nodes} nodes are available`;
  if (refusal.podReason !== undefined) return `${head}: ${refusal.podReason}.`;
  const counts = countReasons(refusal.rejections.values());
  const others = nodes - refusal.rejections.size;
  for (const reason of others > 0 ? (refusal.others?.reasons ?? []) : []) {
    counts.set(reason, (counts.get(reason) ?? 0) + others);
  }
  return `${head}: ${listed(counts)}.`;
}

/** The same of what preemption found. */
export function trialMessage(nodes: number, findings: Iterable<Pick<Rejection, 'reasons'>>): string {
  return `0/${nodes} nodes are available: ${listed(countReasons(findings))}.`;
}

function countReasons(rejections: Iterable<Pick<Rejection, 'reasons'>>): Map<string, number> {
  const counts = new Map<string, number>();
  const add = (reason: string, times: number): void => void counts.set(reason, (counts.get(reason) ?? 0) + times);
  // Nodes of a full cluster say the same one after the other.
  let last = '';
  let times = 0;
  for (const { reasons } of rejections) {
    for (const reason of reasons) {
      if (reason === last) times++;
      else {
        if (times > 0) add(last, times);
        last = reason;
        times = 1;
      }
    }
  }
  if (times > 0) add(last, times);
  return counts;
}

function listed(counts: ReadonlyMap<string, number>): string {
  return Array.from(counts, ([reason, count]) => `${count} ${reason}`)
    .sort((a, b) => (a < b ? -1 : 1))
    .join(', ');
}
