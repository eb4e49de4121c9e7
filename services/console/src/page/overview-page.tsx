import { useSignal } from '@preact/signals';
import type { VNode } from 'preact';
import { useMemo } from 'preact/hooks';
import { type Overview, OverviewBuilder } from '../state/overview.ts';
import type { PodState } from '../state/pod-state.ts';
import { NODES, PODS, pathOf } from '../state/routes.ts';
import { Attention } from './attention.tsx';
import { Legend } from './legend.tsx';
import { LiveBadge } from './live-badge.tsx';
import { NodeCardView, UnboundCard } from './node-card.tsx';
import { RecentEvents } from './recent-events.tsx';
import { TileHints } from './tile-hints.tsx';
import { useLiveTable } from './use-live-table.tsx';

/** Nodes with their pods as tiles. */
export function OverviewPage(): VNode {
  const nodes = useLiveTable(pathOf(NODES));
  const pods = useLiveTable(pathOf(PODS));
  const builder = useMemo(() => new OverviewBuilder(), []);
  // Read, so that this component is drawn again for each frame with changes.
  const stamp = nodes.tick.value + pods.tick.value;
  const overview = useMemo(() => builder.build(nodes.table.model, pods.table.model), [stamp]);
  const shown = useSignal<PodState | undefined>(undefined);
  return (
    <div class="overview" data-only={shown.value}>
      <div class="title">
        <h1>Overview</h1>
        <span class="sum">{sumOf(overview, pods.table.model.rows.size)}</span>
        <LiveBadge tables={[nodes.table, pods.table]} />
      </div>
      <Legend counts={overview.counts} shown={shown} />
      <div class="columns">
        <TileHints>
          {overview.unbound.length > 0 && <UnboundCard pods={overview.unbound} />}
          {overview.nodes.map((card) => (
            <NodeCardView key={card.name} card={card} />
          ))}
        </TileHints>
        <aside aria-label="What happens">
          <Attention pods={overview.attention} counts={overview.counts} />
          <RecentEvents />
        </aside>
      </div>
    </div>
  );
}

function sumOf({ nodes }: Overview, pods: number): string {
  const silent = nodes.filter(({ state }) => state === 'silent').length;
  const heard = silent === 0 ? '' : `, ${silent} not heard of`;
  return `${count(nodes.length, 'node')}${heard}, ${count(pods, 'pod')}`;
}

const count = (number: number, noun: string): string =>
  `${number.toLocaleString('en')} ${noun}${number === 1 ? '' : 's'}`;
