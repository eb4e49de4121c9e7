/** What the scheduler found of the nodes when it last refused a pod; `docs/scheduling.md` describes it. */
export const PLACEMENT_PATH = '/holdfast.io/scheduling/v1';
export const PLACEMENT_API = 'scheduling.holdfast.io/v1';

/** One node, and the plugin that rejected it first. */
export interface RefusedNode {
  readonly node: string;
  readonly plugin: string;
  readonly reasons: readonly string[];
}

/** Nodes that are not named, with equal reasons. */
export interface RefusedRest {
  readonly nodes: number;
  readonly plugin: string;
  readonly reasons: readonly string[];
}

export interface PlacementReport {
  readonly kind: 'PlacementReport';
  readonly apiVersion: typeof PLACEMENT_API;
  readonly pod: { readonly namespace: string; readonly name: string; readonly uid: string };
  /** When the scheduler last decided about the pod, RFC 3339. */
  readonly decidedAt: string;
  /** As in the condition `PodScheduled` of the pod. */
  readonly message: string;
  /** All nodes that the scheduler knew. */
  readonly nodesTotal: number;
  readonly nodes: readonly RefusedNode[];
  readonly rest: readonly RefusedRest[];
}

export const placementPath = (namespace: string, name: string): string =>
  `${PLACEMENT_PATH}/namespaces/${namespace}/pods/${name}`;

const PATH = new RegExp(`^${PLACEMENT_PATH}/namespaces/([a-z0-9-]{1,63})/pods/([a-z0-9.-]{1,253})$`);

/** The pod that a path of reports names. */
export function placementPodOf(path: string): { readonly namespace: string; readonly name: string } | undefined {
  const [, namespace, name] = PATH.exec(path) ?? [];
  return namespace === undefined || name === undefined ? undefined : { namespace, name };
}

export interface PlacementRow {
  readonly who: string;
  /** Empty: not one node. */
  readonly node: string;
  readonly plugin: string;
  readonly reasons: string;
}

/** A row for each node that is named, and for each group of the others. */
export function placementRows({ nodes, rest }: PlacementReport): readonly PlacementRow[] {
  return [
    ...nodes
      .toSorted((a, b) => a.node.localeCompare(b.node, 'en', { numeric: true }))
      .map(({ node, plugin, reasons }) => ({ who: node, node, plugin, reasons: reasons.join('; ') })),
    ...rest.map(({ nodes: count, plugin, reasons }) => ({
      who: `${count} ${nodes.length === 0 ? '' : 'more '}${count === 1 ? 'node' : 'nodes'}`,
      node: '',
      plugin,
      reasons: reasons.length === 0 ? 'for other reasons' : reasons.join('; '),
    })),
  ];
}
