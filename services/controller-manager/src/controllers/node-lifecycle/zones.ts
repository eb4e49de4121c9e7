import { failureZoneOf, type Node } from '@holdfast/api';
import { nameOf } from '../../common/meta.ts';
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

/** The number of nodes and of unready nodes per zone, updated per node. */
export class ZoneCounts {
  readonly #nodes = new Map<string, { readonly zone: string; readonly isReady: boolean }>();
  readonly #zones = new Map<string, Zone>();
  #fullyDisrupted = 0;

  of(node: Node): Zone | undefined {
    return this.#zones.get(failureZoneOf(node));
  }

  isReady(name: string): boolean {
    return this.#nodes.get(name)?.isReady === true;
  }

  /** No node sends heartbeats: this process is more likely at fault than every node. */
  get isFullDisruption(): boolean {
    return this.#zones.size > 0 && this.#fullyDisrupted === this.#zones.size;
  }

  set(node: Node, isReady: boolean): void {
    const name = nameOf(node);
    const zone = failureZoneOf(node);
    const known = this.#nodes.get(name);
    if (known?.zone === zone && known.isReady === isReady) return;
    this.delete(name);
    this.#nodes.set(name, { zone, isReady });
    this.#change(zone, 1, isReady ? 0 : 1);
  }

  delete(name: string): void {
    const known = this.#nodes.get(name);
    if (known === undefined) return;
    this.#nodes.delete(name);
    this.#change(known.zone, -1, known.isReady ? 0 : -1);
  }

  /** Removes the nodes that are not among these. */
  keep(names: ReadonlySet<string>): void {
    for (const name of this.#nodes.keys()) if (!names.has(name)) this.delete(name);
  }

  #change(name: string, nodes: number, notReady: number): void {
    const before = this.#zones.get(name) ?? { name, nodes: 0, notReady: 0 };
    const after = { name, nodes: before.nodes + nodes, notReady: before.notReady + notReady };
    const isFully = (zone: Zone): number => Number(zoneState(zone) === 'fully-disrupted');
    this.#fullyDisrupted += isFully(after) - isFully(before);
    if (after.nodes === 0) this.#zones.delete(name);
    else this.#zones.set(name, after);
  }
}

/** Two lost nodes are a fault of nodes; more than half of a zone and at least three is a fault of something they share. */
export function zoneState({ nodes, notReady }: Zone): ZoneState {
  if (notReady > 0 && notReady === nodes) return 'fully-disrupted';
  return notReady > 2 && notReady / nodes >= UNHEALTHY_ZONE_SHARE ? 'partially-disrupted' : 'normal';
}

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
