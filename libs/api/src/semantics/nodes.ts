import type { Node, NodeCondition } from '../generated/types.ts';
import { REGION_LABEL, ZONE_LABEL } from './well-known.ts';

type Conditioned = { readonly status?: { readonly conditions?: readonly NodeCondition[] } };

export const nodeCondition = ({ status }: Conditioned, type: string): NodeCondition | undefined =>
  status?.conditions?.find((condition) => condition.type === type);

export const isNodeReady = (node: Conditioned): boolean => nodeCondition(node, 'Ready')?.status === 'True';

/** Ignores the effect. Stored JSON may lack the spec. */
export const hasTaint = ({ spec }: Partial<Pick<Node, 'spec'>>, key: string): boolean =>
  (spec?.taints ?? []).some((taint) => taint.key === key);

/** Names the region and zone of a node, in one text: nodes without these labels are in one zone together. */
export const failureZoneOf = ({ metadata: { labels = {} } }: Pick<Node, 'metadata'>): string =>
  `${labels[REGION_LABEL] ?? ''}/${labels[ZONE_LABEL] ?? ''}`;

/** The runtime of nodes that only simulate pods, as in `status.nodeInfo.containerRuntimeVersion`. */
export const HOLLOW_RUNTIME = 'holdfast-hollow';
/** Annotation of a pod: what its containers do on a simulated machine. */
export const HOLLOW_SCRIPT = 'holdfast.io/script';

/** True for a node that only simulates pods: it has no directories. */
export const isHollowNode = ({ status }: Pick<Node, 'status'>): boolean =>
  status.nodeInfo.containerRuntimeVersion.startsWith(`${HOLLOW_RUNTIME}://`);
