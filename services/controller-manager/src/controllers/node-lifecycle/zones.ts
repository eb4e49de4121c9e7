import type { Node } from '@holdfast/api';
import {
  LARGE_ZONE_NODES,
  NODE_EVICTION_INTERVAL_DISRUPTED_MS,
  NODE_EVICTION_INTERVAL_MS,
  UNHEALTHY_ZONE_SHARE,
} from '../../limits.ts';

export type ZoneState = 'normal' | 'partially-disrupted' | 'fully-disrupted';

export interface Zone {
  readonly name: string;
  readonly nodes: number;
  readonly notReady: number;
}

export function zoneOf(node: Node): string {
  const labels = node.metadata.labels ?? {};
  return `${labels['topology.kubernetes.io/region'] ?? ''}/${labels['topology.kubernetes.io/zone'] ?? ''}`;
}

export function zonesOf(nodes: readonly Node[], isNotReady: (node: Node) => boolean): ReadonlyMap<string, Zone> {
  const zones = new Map<string, Zone>();
  for (const node of nodes) {
    const name = zoneOf(node);
    const zone = zones.get(name) ?? { name, nodes: 0, notReady: 0 };
    zones.set(name, { name, nodes: zone.nodes + 1, notReady: zone.notReady + (isNotReady(node) ? 1 : 0) });
  }
  return zones;
}

/** Two lost nodes are a fault of nodes; more than half of a zone and at least three is a fault of something they share. */
export function zoneState({ nodes, notReady }: Zone): ZoneState {
  if (notReady > 0 && notReady === nodes) return 'fully-disrupted';
  return notReady > 2 && notReady / nodes >= UNHEALTHY_ZONE_SHARE ? 'partially-disrupted' : 'normal';
}

/** Nothing answers anywhere: the fault is more likely ours than everybody's. */
export const isFullDisruption = (zones: ReadonlyMap<string, Zone>): boolean =>
  zones.size > 0 && [...zones.values()].every((zone) => zoneState(zone) === 'fully-disrupted');

/** Time between two nodes of the zone getting the NoExecute taint; undefined = none for now. */
export function evictionIntervalMs(zone: Zone): number | undefined {
  switch (zoneState(zone)) {
    case 'normal':
    case 'fully-disrupted':
      return NODE_EVICTION_INTERVAL_MS;
    case 'partially-disrupted':
      return zone.nodes > LARGE_ZONE_NODES ? NODE_EVICTION_INTERVAL_DISRUPTED_MS : undefined;
  }
}
