import { isTerminating, type Pod, type StatefulSet } from '@holdfast/api/facts';
import type { Finding } from './finding.ts';
import type { Reader } from './reader.ts';
import {
  blockerOf,
  explainBlocker,
  explainRefusal,
  isUnsettled,
  ownedPods,
  refusalEvent,
  unseenChange,
  type WorkloadFacts,
} from './workload.ts';

export interface StatefulSetFacts extends WorkloadFacts {
  readonly set: StatefulSet;
}

export async function observeStatefulSet(set: StatefulSet, reader: Reader): Promise<StatefulSetFacts> {
  const [pods, events] = await Promise.all([ownedPods(set, reader), reader.events(set)]);
  const ordered = pods.toSorted((a, b) => ordinal(a) - ordinal(b));
  return { set, pods: ordered, events, blocker: await blockerOf(ordered.find(isUnsettled), reader) };
}

const ordinal = ({ metadata }: Pod): number => Number(/-(\d+)$/.exec(metadata.name ?? '')?.[1] ?? 0);

export function explainStatefulSet(facts: StatefulSetFacts, now: number): Finding {
  const { set, pods, blocker } = facts;
  const { replicas = 1, podManagementPolicy } = set.spec;
  const unseen = unseenChange(set, set.status.observedGeneration);
  if (unseen !== undefined) return unseen;
  const held = explainBlocker(blocker, 'its pod', now);
  if (held !== undefined) {
    const isHolding = podManagementPolicy !== 'Parallel' && pods.length < replicas;
    return isHolding ? { ...held, waitsFor: `${held.waitsFor}; the pods after it are made in order` } : held;
  }
  if (pods.length < replicas) return missingPods(facts);
  return pods.length > replicas ? shrinking(pods.length, replicas) : explainUpdate(set);
}

function missingPods({ set, pods, events }: StatefulSetFacts): Finding {
  const { replicas = 1 } = set.spec;
  return (
    explainRefusal(refusalEvent(events)) ?? {
      waitsFor: `${pods.length} of its ${replicas} pods exist, and the controller has not made the next one`,
      endsWhen: 'the controller manager makes it',
    }
  );
}

const shrinking = (have: number, replicas: number): Finding => ({
  waitsFor: `it has ${have} pods and wants ${replicas}: pods end one after the other, from the highest ordinal`,
  endsWhen: 'their nodes have confirmed that the surplus pods ended',
});

function explainUpdate({ metadata, spec, status }: StatefulSet): Finding {
  const { replicas = 1, updateStrategy } = spec;
  const { currentRevision, updateRevision, updatedReplicas = 0 } = status;
  if (currentRevision === updateRevision || updatedReplicas >= replicas)
    return { rests: `its ${replicas} pods are ready` };
  const what = `${updatedReplicas} of its ${replicas} pods have the new template`;
  if (updateStrategy.type === 'OnDelete') {
    return {
      waitsFor: `${what}, and its update strategy is OnDelete`,
      endsWhen: 'somebody deletes the pods that have the old template',
    };
  }
  const partition = updateStrategy.rollingUpdate?.partition ?? 0;
  const start = spec.ordinals?.start ?? 0;
  if (updatedReplicas >= start + replicas - Math.max(partition, start)) {
    const waitsFor = `${what}, and its partition ${partition} keeps pods of lower ordinals at the old one`;
    return { waitsFor, endsWhen: `somebody lowers spec.updateStrategy.rollingUpdate.partition of ${metadata.name}` };
  }
  return {
    waitsFor: `${what}, and the controller has not replaced the next one`,
    endsWhen: 'the controller manager replaces it',
  };
}

const IDENTITY = /^(.+)-(0|[1-9]\d{0,9})$/;

/** The set and the ordinal in the name of a pod. */
export function identityOf(podName: string): { readonly set: string; readonly ordinal: number } | undefined {
  const [, set, digits] = IDENTITY.exec(podName) ?? [];
  return set === undefined ? undefined : { set, ordinal: Number(digits) };
}

/** A pod that its set wants and that does not exist. `undefined`: the set does not want it. */
export function explainMissingPod(facts: StatefulSetFacts, wanted: number, now: number): Finding | undefined {
  const { set, blocker } = facts;
  const { replicas = 1, podManagementPolicy } = set.spec;
  const start = set.spec.ordinals?.start ?? 0;
  if (isTerminating(set) || wanted < start || wanted >= start + replicas) return undefined;
  const isBehind = blocker !== undefined && ordinal(blocker.pod) < wanted && podManagementPolicy !== 'Parallel';
  const held = isBehind
    ? explainBlocker(blocker, 'it does not exist before its predecessor is ready, and', now)
    : undefined;
  return held ?? unseenChange(set, set.status.observedGeneration) ?? missingPods(facts);
}
