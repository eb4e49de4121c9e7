import type { KubeObject } from '@holdfast/api';
import type { DeleteRequest } from '@holdfast/client';
import { at, misuse, textAt } from './resources.ts';

/** What somebody typed after `delete`. */
export interface DeletionWish {
  readonly gracePeriodSeconds: number | undefined;
  readonly force: boolean;
}

/** Force deletion has two names, as in kubectl; they may not contradict each other. */
export function isForced({ force, gracePeriodSeconds }: DeletionWish): boolean {
  if (force && (gracePeriodSeconds ?? 0) > 0) {
    throw misuse(
      '--force and a --grace-period above 0 exclude each other',
      'Leave --force out, so that the object gets its time to end.',
    );
  }
  return force || gracePeriodSeconds === 0;
}

/** What can go wrong with this object for ever; whoever wants it all the same says `--confirm`. */
export function risksOf(wish: DeletionWish, object: KubeObject): readonly string[] {
  return [...forceRisks(wish, object), ...nodeRisks(object)];
}

function forceRisks(wish: DeletionWish, object: KubeObject): readonly string[] {
  if (!isForced(wish)) return [];
  const name = called(object);
  if (object.kind !== 'Pod')
    return [`force deletion removes ${name} at once and does not wait for what it stands for to end`];
  const node = textAt(at(object, 'spec'), 'nodeName');
  const where =
    node === '' ? 'it has no node yet' : `they may go on running on node ${node}, indefinitely if it is cut off`;
  return [
    `force deletion does not wait for ${name} to terminate, its containers are stopped asynchronously: ${where}; ` +
      'two instances may run at once, and data may be lost',
  ];
}

function nodeRisks(object: KubeObject): readonly string[] {
  if (object.kind !== 'Node') return [];
  return [
    `deleting ${called(object)} says that this machine is gone for good: its pods are removed without its word and may be started elsewhere; ` +
      'if it still runs, two instances may run at once, and data may be lost',
  ];
}

/** It concerns the object that was looked at, not a later one of the same name. */
export function deleteRequest(wish: DeletionWish, { metadata }: KubeObject): DeleteRequest {
  const gracePeriodSeconds = isForced(wish) ? 0 : wish.gracePeriodSeconds;
  return {
    ...(gracePeriodSeconds === undefined ? {} : { gracePeriodSeconds }),
    ...(metadata.uid === undefined ? {} : { uid: metadata.uid }),
  };
}

/** What became of it; `after` is what the API has under this name now. */
export function outcomeOf(wish: DeletionWish, before: KubeObject, after: KubeObject | undefined): string {
  const name = called(before);
  if (after === undefined || after.metadata.uid !== before.metadata.uid) {
    return `${name} ${isForced(wish) ? 'force deleted' : 'deleted'}`;
  }
  const { finalizers = [], deletionGracePeriodSeconds: seconds } = after.metadata;
  if (finalizers.length > 0) return `${name} was asked to end; its finalizers hold it: ${finalizers.join(', ')}`;
  if (after.kind !== 'Pod') return `${name} was asked to end`;
  const node = textAt(at(after, 'spec'), 'nodeName');
  return `${name} was asked to end within ${seconds ?? 0} s; node ${node} removes it when its processes have ended`;
}

export const called = ({ kind, metadata }: KubeObject): string => `${kind.toLowerCase()} "${metadata.name ?? ''}"`;
