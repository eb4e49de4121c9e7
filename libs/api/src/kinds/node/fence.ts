import type { Node } from '../../generated/types.ts';
import { OUT_OF_SERVICE_TAINT } from '../../semantics/well-known.ts';

/** Node condition about its fence: False = none, Unknown = in progress, True = confirmed by the agents. */
export const FENCED = 'Fenced';

/** Node annotations for users, detectors and the fencer; the node itself never sets them. */
export const FENCING_PREFIX = 'fencing/';

/** Reason of the True condition; it tells how far the fence reaches. */
export const NODE_FENCED = 'NodeFenced';
export const STORAGE_FENCED = 'StorageFenced';

/**
 * The confirmed fence of a node: `node` = the whole node, its processes reach neither clients nor storage; `storage` =
 * only storage, its processes may still answer clients.
 */
export type Fence = 'none' | 'storage' | 'node';

export function fenceOf(node: Node): Fence {
  const { reason } = (node.status.conditions ?? []).find(isConfirmation) ?? {};
  if (isOutOfService(node) || reason === NODE_FENCED) return 'node';
  return reason === STORAGE_FENCED ? 'storage' : 'none';
}

const isConfirmation = ({ type, status }: { type: string; status: string }): boolean =>
  type === FENCED && status === 'True';

export const isOutOfService = ({ spec }: Node): boolean =>
  (spec.taints ?? []).some(({ key, effect }) => key === OUT_OF_SERVICE_TAINT && effect === 'NoExecute');
