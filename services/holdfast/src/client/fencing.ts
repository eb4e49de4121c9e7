import type { Node } from '@holdfast/api';
import { FENCED } from '@holdfast/api';

/** How far the fencer is with a wish. */
export interface FenceProgress {
  readonly isDone: boolean;
  readonly text: string;
}

const REQUESTED = 'fencing/requested';
const RELEASE = 'fencing/release';
const UNFENCE = 'fencing/unfence';

/** The annotations with which a user asks for a fence, or for its end. */
export const requestFence = (release: boolean): object => ({
  metadata: { annotations: { [REQUESTED]: 'true', [UNFENCE]: null, ...(release ? { [RELEASE]: 'true' } : {}) } },
});
export const requestUnfence = (): object => ({ metadata: { annotations: { [UNFENCE]: 'true' } } });

export function fenceProgress(node: Node): FenceProgress {
  const { status, reason = '', message = '' } = conditionOf(node) ?? {};
  if (status === 'True') return { isDone: true, text: `fenced (${reason}): ${message}` };
  if (status === undefined || reason === 'Unfenced') return { isDone: false, text: 'waits for a fencer' };
  return { isDone: false, text: `${reason}: ${message}` };
}

/** The fencer removes the annotation when it is done. */
export function unfenceProgress(node: Node): FenceProgress {
  const { status, reason = '', message = '' } = conditionOf(node) ?? {};
  const isAsked = node.metadata.annotations?.[UNFENCE] !== undefined;
  if (!isAsked && status !== 'True') return { isDone: true, text: 'not fenced' };
  return { isDone: false, text: status === undefined ? 'waits for a fencer' : `${reason}: ${message}` };
}

const conditionOf = (node: Node) => node.status.conditions?.find(({ type }) => type === FENCED);
