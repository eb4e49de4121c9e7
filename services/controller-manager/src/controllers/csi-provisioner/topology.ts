import type { CSINode, Node, PersistentVolumeClaim, StorageClass } from '@holdfast/api';
import { ownValue } from '@holdfast/machinery';
import { compareText, nameOf, uidOf } from '../../common/meta.ts';
import { DriverError, type Segments } from '../../csi/port.ts';
import { TOPOLOGY_SEGMENTS_MAX } from '../../limits.ts';

export interface Places {
  readonly driver: string;
  readonly claim: PersistentVolumeClaim;
  readonly storageClass: Pick<StorageClass, 'allowedTopologies'>;
  /** The node that the scheduler selected; undefined when the volume need not wait for a pod. */
  readonly selected: Node | undefined;
  readonly nodes: readonly { readonly node: Node; readonly csiNode: CSINode | undefined }[];
}

export interface Topology {
  readonly requisite: readonly Segments[];
  readonly preferred: readonly Segments[];
}

/**
 * Where the volume may be, best place first, as the external provisioner asks for it: around the selected node, or spread
 * over all places by the claim's uid. `undefined`: no node knows the driver's places. Throws when no place is allowed.
 */
export function topologyFor(places: Places): Topology | undefined {
  const { claim, storageClass, selected } = places;
  const allowed = allowedSegments(storageClass);
  const requisite = sorted(allowed.length > 0 ? allowed : reachedSegments(places));
  if (requisite.length === 0) {
    if (selected === undefined) return undefined;
    throw refused(`driver ${places.driver} has no topology on node "${nameOf(selected)}"`);
  }
  const first = selected === undefined ? spread(uidOf(claim), requisite.length) : placeOf(selected, requisite);
  return { requisite, preferred: [...requisite.slice(first), ...requisite.slice(0, first)] };
}

const refused = (message: string): DriverError => new DriverError(message, { isRefusal: false });

function placeOf(node: Node, requisite: readonly Segments[]): number {
  const labels = node.metadata.labels ?? {};
  const at = requisite.findIndex((segments) =>
    Object.entries(segments).every(([key, text]) => ownValue(labels, key) === text),
  );
  if (at < 0) throw refused(`node "${nameOf(node)}" is at no place that the class and the driver allow`);
  return at;
}

/** The places of the nodes on which the driver runs, by the keys that it named there. */
function reachedSegments({ driver, nodes, selected }: Places): readonly Segments[] {
  const known = nodes.flatMap(({ node, csiNode }) => {
    const keys = csiNode?.spec.drivers?.find(({ name }) => name === driver)?.topologyKeys ?? [];
    const entries = keys.map((key) => [key, ownValue(node.metadata.labels, key)] as const);
    const isKnown = keys.length > 0 && entries.every(([, text]) => text !== undefined);
    return isKnown ? [{ node, segments: Object.fromEntries(entries) as Segments }] : [];
  });
  const own = known.find(({ node }) => selected !== undefined && nameOf(node) === nameOf(selected));
  if (selected !== undefined && own === undefined) return [];
  // During an update of the driver nodes may name different keys: those of the selected node count.
  const keys = own === undefined ? undefined : keysOf(own.segments);
  return known.flatMap(({ segments }) => (keys === undefined || keysOf(segments) === keys ? [segments] : []));
}

const keysOf = (segments: Segments): string => Object.keys(segments).toSorted().join(' ');

/** Every combination of the values of a term. */
function allowedSegments({ allowedTopologies = [] }: Pick<StorageClass, 'allowedTopologies'>): readonly Segments[] {
  return allowedTopologies.flatMap(({ matchLabelExpressions = [] }) => {
    let combined: Segments[] = matchLabelExpressions.length === 0 ? [] : [{}];
    for (const { key, values } of matchLabelExpressions) {
      combined = combined.flatMap((segments) => values.map((text) => ({ ...segments, [key]: text })));
      if (combined.length > TOPOLOGY_SEGMENTS_MAX)
        throw new DriverError(`allowedTopologies name more than ${TOPOLOGY_SEGMENTS_MAX} places`, { isRefusal: true });
    }
    return combined;
  });
}

function sorted(all: readonly Segments[]): readonly Segments[] {
  const byText = new Map(all.map((segments) => [textOf(segments), segments]));
  const found = [...byText].toSorted(([a], [b]) => compareText(a, b)).map(([, segments]) => segments);
  return found.slice(0, TOPOLOGY_SEGMENTS_MAX);
}

const textOf = (segments: Segments): string =>
  JSON.stringify(Object.entries(segments).toSorted(([a], [b]) => compareText(a, b)));

/** The same claim begins at the same place in every attempt. */
function spread(uid: string, count: number): number {
  let sum = 0;
  for (const character of uid) sum = (sum * 31 + (character.codePointAt(0) ?? 0)) % 1_000_003;
  return sum % count;
}
