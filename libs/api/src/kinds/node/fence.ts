import type { Node } from '../../generated/types.ts';
import { OUT_OF_SERVICE_TAINT } from '../../semantics/well-known.ts';

/** The condition of a node that tells of its fence: False = none, Unknown = under way, True = confirmed by the agents. */
export const FENCED = 'Fenced';

/** Annotations of a node that users, detectors and the fencer speak by; never the node itself. */
export const FENCING_PREFIX = 'fencing/';

/** Why the condition is True, which is how far the fence goes. */
export const NODE_FENCED = 'NodeFenced';
export const STORAGE_FENCED = 'StorageFenced';

/**
 * What is confirmed to be cut off from a node: `node` = all of it, its processes reach neither clients nor storage;
 * `storage` = storage alone, its processes may still answer clients.
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
