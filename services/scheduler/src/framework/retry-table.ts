import type { RetryTable } from '../domain/pod-queue.ts';
import type { ClusterEvent, Plugin } from './plugin.ts';

/** Which plugins wait for which event. */
export function retryTable(plugins: readonly Plugin[]): RetryTable {
  const table = new Map<ClusterEvent, Set<string>>();
  for (const { name, retryAfter = [] } of plugins) {
    for (const event of retryAfter) table.set(event, (table.get(event) ?? new Set<string>()).add(name));
  }
  return table;
}
