import type { VNode } from 'preact';
import type { LiveTable } from '../state/live-table.ts';

const WORDS = {
  loading: 'Loading',
  live: 'Live',
  reconnecting: 'Reconnecting',
  refused: 'Not allowed',
  past: 'Past',
} as const;

/** Whether the page shows the cluster as it is now. */
export function LiveBadge({ tables }: { readonly tables: readonly LiveTable[] }): VNode {
  const order = ['refused', 'reconnecting', 'loading', 'past', 'live'] as const;
  const liveness = order.find((each) => tables.some((table) => table.liveness === each)) ?? 'live';
  const failure = tables.find((table) => table.failure !== '')?.failure ?? '';
  return (
    <span class={`live ${liveness}`} role="status" title={failure}>
      {WORDS[liveness]}
      {liveness !== 'live' && failure !== '' && <span class="why">: {failure}</span>}
    </span>
  );
}
