import { NODES, type Node, type Pod } from '@holdfast/api';
import type { ApiClient } from '@holdfast/client';
import { type AdmittingNode, admitPod, dependsOnNodeObject, type PodShare, shareOf } from '../domain/admit-pod.ts';
import type { NodeFacts } from '../domain/node-status.ts';
import { allocatableWithAdvertised, defaultLabels } from '../domain/node-status.ts';
import type { PodFailure } from '../domain/pod-worker-types.ts';
import { refuseUnderPressure } from '../eviction/admit.ts';
import type { PressureCondition } from '../eviction/signals.ts';

/** The resources that the pods of this node share, and the pods that hold them. */
export interface NodeAdmission {
  /**
   * Reserves the pod's share, or returns why it is refused. Decisions are sequential: two pods never get the same
   * share.
   */
  admit(pod: Pod): Promise<PodFailure | undefined>;
  /** It runs here, whatever it was admitted to. */
  hold(pod: Pod): void;
  release(uid: string): void;
  /** The last known state. */
  node(): AdmittingNode;
}

export interface NodeAdmissionDeps {
  readonly client: ApiClient;
  readonly facts: NodeFacts;
  /** The object as it was last read; `undefined`: never. */
  readonly node: () => Node | undefined;
  /** Why the node accepts no more pods. */
  readonly closed?: () => PodFailure | undefined;
  /** Exhausted resources. */
  readonly pressure?: () => readonly PressureCondition[];
}

export function createNodeAdmission({ client, facts, node, closed, pressure }: NodeAdmissionDeps): NodeAdmission {
  const shares = new Map<string, PodShare>();
  const others = (uid: string): PodShare[] => [...shares].flatMap(([key, share]) => (key === uid ? [] : [share]));
  const answer = (pod: Pod, found: Node | undefined): PodFailure | undefined =>
    admitPod(pod, admitting(facts, found), others(pod.metadata.uid ?? ''));
  const hold = (pod: Pod): void => {
    const { uid = '' } = pod.metadata;
    if (!shares.has(uid)) shares.set(uid, shareOf(pod));
  };
  return {
    admit: async (pod) => {
      let refusal = closed?.() ?? refuseUnderPressure(pod, pressure?.() ?? []) ?? answer(pod, node());
      if (refusal !== undefined && dependsOnNodeObject(refusal)) {
        refusal = answer(pod, await client.find(NODES, { name: facts.name }));
      }
      if (refusal === undefined) hold(pod);
      return refusal;
    },
    hold,
    release: (uid) => void shares.delete(uid),
    node: () => admitting(facts, node()),
  };
}

function admitting(facts: NodeFacts, node: Node | undefined): AdmittingNode {
  const labels = node?.metadata.labels ?? { ...defaultLabels(facts), ...facts.labels };
  return {
    name: facts.name,
    labels,
    taints: node?.spec.taints ?? [],
    allocatable: allocatableWithAdvertised(facts, node?.status?.capacity),
  };
}
