import { CSI_NODES, type CSINode, type CSINodeDriver, NODES, type Node } from '@holdfast/api';
import type { ApiClient } from '@holdfast/client';
import { deepEqual } from '@holdfast/machinery';
import type { DriverNode } from './port.ts';

export interface SeenDriver {
  readonly name: string;
  readonly node: DriverNode;
}

/** The CSINode of a node. It ends with the Node. */
export function csiNodeOf(node: Node, drivers: readonly SeenDriver[], found: CSINode | undefined): CSINode {
  const { name = '', uid = '' } = node.metadata;
  const metadata = found?.metadata ?? { name, ownerReferences: [{ apiVersion: 'v1', kind: 'Node', name, uid }] };
  return { apiVersion: 'storage.k8s.io/v1', kind: 'CSINode', metadata, spec: { drivers: drivers.map(entryOf) } };
}

function entryOf({ name, node: { nodeId, maxVolumes, topology } }: SeenDriver): CSINodeDriver {
  const topologyKeys = Object.keys(topology).toSorted();
  return {
    name,
    nodeID: nodeId,
    ...(topologyKeys.length === 0 ? {} : { topologyKeys }),
    ...(maxVolumes > 0 ? { allocatable: { count: maxVolumes } } : {}),
  };
}

/** Labels of the node that the drivers name; `undefined` when it has them. */
export function topologyLabels(
  node: Node,
  drivers: readonly SeenDriver[],
): Readonly<Record<string, string>> | undefined {
  const wanted = Object.assign({}, ...drivers.map((driver) => driver.node.topology)) as Record<string, string>;
  const have = node.metadata.labels ?? {};
  return Object.entries(wanted).every(([key, value]) => have[key] === value) ? undefined : wanted;
}

export interface FittingDrivers {
  readonly fitting: readonly SeenDriver[];
  /** Why the others cannot be published, as in Kubernetes. */
  readonly collisions: readonly string[];
}

/** A driver does not change a label that the node has: pods and volumes were placed by it. */
export function fittingDrivers({ metadata }: Node, drivers: readonly SeenDriver[]): FittingDrivers {
  const labels = new Map(Object.entries(metadata.labels ?? {}));
  const fitting: SeenDriver[] = [];
  const collisions: string[] = [];
  for (const driver of drivers) {
    const segments = Object.entries(driver.node.topology);
    const clash = segments.find(([key, value]) => (labels.get(key) ?? value) !== value);
    if (clash === undefined) {
      fitting.push(driver);
      for (const [key, value] of segments) labels.set(key, value);
    } else {
      const [key, value] = clash;
      collisions.push(
        `driver ${driver.name}: detected topology value collision: driver reported "${key}":"${value}" but existing label is "${key}":"${labels.get(key) ?? ''}"`,
      );
    }
  }
  return { fitting, collisions };
}

/** Publishes the drivers of this node. Rejects while the Node does not exist, and when not all of them are published. */
export async function writeCsiNode(client: ApiClient, nodeName: string, drivers: readonly SeenDriver[]): Promise<void> {
  const node = await client.get(NODES, { name: nodeName });
  const { fitting, collisions } = fittingDrivers(node, drivers);
  const labels = topologyLabels(node, fitting);
  // The scheduler reads the labels as soon as it sees the driver.
  if (labels !== undefined)
    await client.patch(NODES, { name: nodeName }, { type: 'merge', body: { metadata: { labels } } });
  const found = await client.find(CSI_NODES, { name: nodeName });
  if (found !== undefined || fitting.length > 0) await writeDrivers(client, csiNodeOf(node, fitting, found), found);
  if (collisions.length > 0) throw new Error(collisions.join('; '));
}

async function writeDrivers(client: ApiClient, next: CSINode, found: CSINode | undefined): Promise<void> {
  if (found === undefined) await client.create(CSI_NODES, next);
  else if (!deepEqual(driversIn(found), driversIn(next))) await client.update(CSI_NODES, next);
}

/** Without the differences that the server makes: null for missing keys. */
const driversIn = ({ spec }: CSINode): readonly object[] =>
  (spec.drivers ?? []).map(({ name, nodeID, topologyKeys, allocatable }) => ({
    name,
    nodeID,
    topologyKeys: topologyKeys ?? [],
    count: allocatable?.count ?? 0,
  }));
