import {
  type Event,
  isPodFinished,
  isPodReady,
  isTerminating,
  type KubeObject,
  PODS,
  type Pod,
} from '@holdfast/api/facts';
import { type Finding, isWait, quoted, type Wait } from './finding.ts';
import { explainPod } from './pod.ts';
import { observePod, type PodFacts } from './pod-facts.ts';
import type { Reader } from './reader.ts';

/** What the workload kinds have in common: their pods, and why the next one is not made. */
export interface WorkloadFacts {
  readonly pods: readonly Pod[];
  /** The first pod that holds up the others. */
  readonly blocker: PodFacts | undefined;
  readonly events: readonly Event[];
}

export const ownedBy =
  ({ metadata }: KubeObject) =>
  (object: KubeObject): boolean =>
    (object.metadata.ownerReferences ?? []).some(({ uid, controller }) => controller === true && uid === metadata.uid);

export const ownedPods = async (owner: KubeObject, reader: Reader): Promise<readonly Pod[]> =>
  (await reader.list(PODS, owner.metadata.namespace)).filter(ownedBy(owner));

export const isUnsettled = (pod: Pod): boolean => isTerminating(pod) || (!isPodFinished(pod) && !isPodReady(pod));

export const blockerOf = async (pod: Pod | undefined, reader: Reader): Promise<PodFacts | undefined> =>
  pod === undefined ? undefined : observePod(pod, reader);

/** `pod db-0 <holds it up>: <what that pod waits for>` */
export function explainBlocker(blocker: PodFacts | undefined, role: string, now: number): Wait | undefined {
  if (blocker === undefined) return undefined;
  const finding: Finding = explainPod(blocker, now);
  const name = blocker.pod.metadata.name ?? '';
  if (!isWait(finding)) return undefined;
  return { ...finding, waitsFor: `${role} ${name} is not ready: ${finding.waitsFor}` };
}

/** A pod that cannot be made: most often a quota, or an admission that refuses it. */
export function explainRefusal(message: string | undefined, since?: string): Wait | undefined {
  if (message === undefined || message === '') return undefined;
  const endsWhen = message.includes('exceeded quota')
    ? 'the quota is raised, or other objects that it counts are deleted'
    : 'the API server accepts the pod: correct what the message names';
  return { waitsFor: `the API server refuses its next pod: ${quoted(message)}`, endsWhen, since };
}

export const refusalEvent = (events: readonly Event[]): string | undefined =>
  events.find(({ reason }) => reason === 'FailedCreate')?.message;

export const unseenChange = (object: KubeObject, observedGeneration: number | undefined): Wait | undefined =>
  (observedGeneration ?? 0) >= (object.metadata.generation ?? 0)
    ? undefined
    : {
        waitsFor: 'its controller has not seen its last change',
        endsWhen: 'the controller manager runs and has seen it',
      };
