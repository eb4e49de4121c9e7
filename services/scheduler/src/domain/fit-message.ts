import type { Rejection } from '../framework/plugin.ts';
import type { Refusal } from './schedule.ts';

export const NO_NODES = 'no nodes available to schedule pods';

/** `0/3 nodes are available: 1 Insufficient cpu, 2 node(s) were unschedulable.` */
export function fitMessage(nodes: number, refusal: Pick<Refusal, 'rejections' | 'others' | 'podReason'>): string {
  const { rejections, others: otherwise, podReason } = refusal;
  const head = `0/${nodes} nodes are available`;
  if (podReason !== undefined) return `${head}: ${podReason}.`;
  const counts = new Map(countsOf(rejections));
  const others = nodes - rejections.size;
  for (const reason of others > 0 ? (otherwise?.reasons ?? []) : []) {
    counts.set(reason, (counts.get(reason) ?? 0) + others);
  }
  return `${head}: ${listed(counts)}.`;
}

/** Equal pods share rejections that were counted already. */
const counted = new WeakMap<Refusal['rejections'], ReadonlyMap<string, number>>();

function countsOf(rejections: Refusal['rejections']): ReadonlyMap<string, number> {
  const known = counted.get(rejections) ?? countReasons(rejections.values());
  counted.set(rejections, known);
  return known;
}

/** The same for the result of preemption. */
export function trialMessage(nodes: number, findings: Iterable<Pick<Rejection, 'reasons'>>): string {
  return `0/${nodes} nodes are available: ${listed(countReasons(findings))}.`;
}

function countReasons(rejections: Iterable<Pick<Rejection, 'reasons'>>): Map<string, number> {
  const counts = new Map<string, number>();
  const add = (reason: string, times: number): void => void counts.set(reason, (counts.get(reason) ?? 0) + times);
  // Consecutive nodes of a full cluster have the same reasons, usually in the same array.
  let last: readonly string[] = [];
  let times = 0;
  for (const { reasons } of rejections) {
    if (reasons !== last) {
      for (const reason of last) add(reason, times);
      last = reasons;
      times = 0;
    }
    times++;
  }
  for (const reason of last) add(reason, times);
  return counts;
}

function listed(counts: ReadonlyMap<string, number>): string {
  return Array.from(counts, ([reason, count]) => `${count} ${reason}`)
    .sort((a, b) => (a < b ? -1 : 1))
    .join(', ');
}
