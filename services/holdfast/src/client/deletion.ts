import { isFinishedPhase, type KubeObject } from '@holdfast/api';
import type { DeleteRequest } from '@holdfast/client';
import { misuse } from './misuse.ts';
import { at, textAt } from './resources.ts';

/** The arguments of `delete`. */
export interface DeletionWish {
  readonly gracePeriodSeconds: number | undefined;
  readonly force: boolean;
}

/** Force deletion has two flags, as in kubectl; they may not contradict each other. */
export function isForced({ force, gracePeriodSeconds }: DeletionWish): boolean {
  if (force && (gracePeriodSeconds ?? 0) > 0) {
    throw misuse(
      '--force and a --grace-period above 0 exclude each other',
      'Leave --force out, so that the object gets its time to end.',
    );
  }
  return force || gracePeriodSeconds === 0;
}

/** Returns the irreversible risks for this object; `--confirm` accepts them. */
export function risksOf(wish: DeletionWish, object: KubeObject): readonly string[] {
  const name = called(object);
  if (object.kind === 'Node') {
    return [
      `deleting ${name} says that this machine is gone for good: its pods are removed without its word and may be started elsewhere; ` +
        `if it still runs, ${TWO_AT_ONCE}`,
    ];
  }
  if (isForced(wish)) return [object.kind === 'Pod' ? podRisk(object) : `force deletion removes ${name} at once`];
  if (wish.gracePeriodSeconds === undefined && goesAtOnce(object)) {
    return [`${name} grants its processes no time (--grace-period=1 gives them some): ${podRisk(object)}`];
  }
  return [];
}

const TWO_AT_ONCE = 'two instances may run at once, and data may be lost';

function podRisk(pod: KubeObject): string {
  const node = nodeOf(pod);
  if (node === '') return `force deletion removes ${called(pod)} at once; it has no node, so nothing of it runs`;
  const where = `they may go on running on node ${node}, indefinitely if it is cut off`;
  return `force deletion does not wait for ${called(pod)} to terminate, its containers are stopped asynchronously: ${where}; ${TWO_AT_ONCE}`;
}

/** A pod with grace period 0 is removed by a plain deletion while its processes still run. */
function goesAtOnce(object: KubeObject): boolean {
  if (object.kind !== 'Pod' || nodeOf(object) === '') return false;
  const hasEnded = isFinishedPhase(textAt(at(object, 'status'), 'phase'));
  return !hasEnded && at(at(object, 'spec'), 'terminationGracePeriodSeconds') === NO_TIME;
}

const NO_TIME = 0;

/** Deletes exactly the examined object, not a later one with the same name. */
export function deleteRequest(wish: DeletionWish, { metadata }: KubeObject): DeleteRequest {
  const gracePeriodSeconds = isForced(wish) ? 0 : wish.gracePeriodSeconds;
  return {
    ...(gracePeriodSeconds === undefined ? {} : { gracePeriodSeconds }),
    ...(metadata.uid === undefined ? {} : { uid: metadata.uid }),
  };
}

/** Describes the result; `after` is the current object of this name. */
export function outcomeOf(wish: DeletionWish, before: KubeObject, after: KubeObject | undefined): string {
  const name = called(before);
  if (after === undefined || after.metadata.uid !== before.metadata.uid) {
    return `${name} ${isForced(wish) ? 'force deleted' : 'deleted'}`;
  }
  const { finalizers = [], deletionGracePeriodSeconds: seconds } = after.metadata;
  if (finalizers.length > 0) return `${name} was asked to end; its finalizers hold it: ${finalizers.join(', ')}`;
  if (after.kind !== 'Pod') return `${name} was asked to end`;
  return `${name} was asked to end within ${seconds ?? 0} s; node ${nodeOf(after)} removes it when its processes have ended`;
}

export const called = ({ kind, metadata }: KubeObject): string => `${kind.toLowerCase()} "${metadata.name ?? ''}"`;

const nodeOf = (pod: KubeObject): string => textAt(at(pod, 'spec'), 'nodeName');
