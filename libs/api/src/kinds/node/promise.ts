import type { Lease, Node, Pod } from '../../generated/types.ts';
import { isExclusive, SELF_FENCING } from '../../semantics/exclusive.ts';
import { isMirrorPod } from '../../semantics/pods.ts';

/** Annotation of a node's lease, beside `SELF_FENCING`: the machine and the boot that made the promise. */
export const SELF_FENCING_HOLDER = 'holdfast.io/self-fencing-holder';
/** Annotation that the control plane sets after it has waited out the promise. The node's next promise removes it. */
export const SELF_FENCING_BROKEN = 'holdfast.io/self-fencing-broken';

/** Node condition set by its kubelet: it has a watchdog and makes promises. */
export const SELF_FENCING_CONDITION = 'SelfFencing';
/** Node condition set by the control plane: the promise is waited out, so exclusive pods of the node are dead. */
export const SELF_FENCED = 'SelfFenced';

export const NODE_LEASES_NAMESPACE = 'kube-node-lease';

/** `exclusive`: see `isExclusive`. `all`: every pod of the node. */
export type SelfFencingPolicy = 'exclusive' | 'all';

export interface NodePromise {
  readonly policy: SelfFencingPolicy;
  readonly holder: string;
  readonly durationMs: number;
  readonly isBroken: boolean;
}

/** Returns `undefined` when the node makes no promise. */
export function promiseOf(lease: Lease | undefined): NodePromise | undefined {
  const annotations = lease?.metadata.annotations ?? {};
  const policy = annotations[SELF_FENCING];
  const seconds = lease?.spec?.leaseDurationSeconds ?? 0;
  if ((policy !== 'exclusive' && policy !== 'all') || seconds <= 0) return undefined;
  return {
    policy,
    holder: annotations[SELF_FENCING_HOLDER] ?? '',
    durationMs: seconds * 1000,
    isBroken: annotations[SELF_FENCING_BROKEN] !== undefined,
  };
}

/** True when the watchdog of a node with this policy ends the pod. Static pods are never released. */
export const isCovered = (policy: SelfFencingPolicy, pod: Pick<Pod, 'metadata' | 'spec'>): boolean =>
  !isMirrorPod(pod) && (policy === 'all' || isExclusive(pod));

/** Reasons of the condition while it is `True`: the pods of the node that were released. */
export const SELF_FENCED_REASONS: Readonly<Record<SelfFencingPolicy, string>> = {
  exclusive: 'PromiseWaitedOut',
  all: 'PromiseOfAllWaitedOut',
};

/** Reads the condition that the control plane sets. Releases depend on the lease, never on this condition. */
export const isSelfFenced = ({ status }: Pick<Node, 'status'>): boolean => fencedCondition(status) !== undefined;

/** Which pods a fenced node releases as soon as they are bound to it: none of these can run there before the node promises again. */
export function releasePolicy({ status }: Pick<Node, 'status'>): SelfFencingPolicy | undefined {
  const condition = fencedCondition(status);
  if (condition === undefined) return undefined;
  return condition.reason === SELF_FENCED_REASONS.all ? 'all' : 'exclusive';
}

/** Whether the node would release this pod at once if the pod were bound to it. */
export function isReleasedFrom(node: Pick<Node, 'status'>, pod: Pick<Pod, 'metadata' | 'spec'>): boolean {
  const policy = releasePolicy(node);
  return policy !== undefined && isCovered(policy, pod);
}

const fencedCondition = (status: Node['status']) =>
  (status?.conditions ?? []).find(({ type, status: value }) => type === SELF_FENCED && value === 'True');
