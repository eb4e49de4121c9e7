import type { Pod } from '../generated/types.ts';

/**
 * Annotation of a node's lease: the pods that the node promises to end when it has not reached the API for the duration
 * of the lease. A pod says by it whether such a promise covers it, for good; a namespace has the default of its new pods.
 */
export const SELF_FENCING = 'holdfast.io/self-fencing';

/** What a pod says of itself: it must never run twice, or no promise may end it. */
export const POD_SELF_FENCING: readonly string[] = ['exclusive', 'off'];
/** What a namespace says of its new pods; `exclusive` is the rule of every other namespace. */
export const NAMESPACE_SELF_FENCING: readonly string[] = ['exclusive', 'all', 'off'];

type Words = Pick<Pod, 'metadata' | 'spec'>;

/** Another node could use the claim next. */
export const usesClaim = ({ spec }: Pick<Words, 'spec'>): boolean =>
  (spec?.volumes ?? []).some(
    ({ persistentVolumeClaim, ephemeral }) => persistentVolumeClaim !== undefined || ephemeral !== undefined,
  );

/** A pod of which there is one: its name is its identity, as in a StatefulSet, or it uses a claim. */
export const isUnique = ({ metadata, spec }: Words): boolean =>
  usesClaim({ spec }) || (spec?.hostname !== undefined && spec.hostname === metadata.name);

/**
 * True for a unique pod that the promise of its node covers. A pod without a claim may exclude itself. All of this is
 * immutable: so the node and the control plane agree on the pods even while they are disconnected.
 */
export const isExclusive = (pod: Words): boolean =>
  usesClaim(pod) || (isUnique(pod) && pod.metadata.annotations?.[SELF_FENCING] !== 'off');
