import { failureZoneOf } from '@holdfast/api';
import type { NodeInfo } from './node-info.ts';

/**
 * The nodes in turn by zone: a search of a part of a large cluster sees all zones alike. Within a zone, and among the
 * zones, the order is the one given.
 */
export function inTurnByZone<T extends Pick<NodeInfo, 'node'>>(nodes: Iterable<T>): readonly T[] {
  let zones = [...Map.groupBy(nodes, ({ node }) => failureZoneOf(node)).values()];
  const ordered: T[] = [];
  for (let turn = 0; zones.length > 0; turn++) {
    for (const zone of zones) {
      const node = zone[turn];
      if (node !== undefined) ordered.push(node);
    }
    // Zones that are used up leave: one large zone beside many small ones costs no more.
    zones = zones.filter(({ length }) => length > turn + 1);
  }
  return ordered;
}
