import { type FieldError, invalid, notSupported } from '@holdfast/machinery';
import type { Pod } from '../../generated/types.ts';
import { isUnique, POD_SELF_FENCING, SELF_FENCING, usesClaim } from '../../semantics/exclusive.ts';
import { isMirrorPod } from '../../semantics/pods.ts';

/** What a pod says of the promise of its node must be possible. Nothing of that holds for static pods. */
export function validateSelfFencing(out: FieldError[], path: string, pod: Readonly<Pod>): void {
  const policy = pod.metadata.annotations?.[SELF_FENCING];
  if (policy === undefined || isMirrorPod(pod)) return;
  const at = `${path}[${SELF_FENCING}]`;
  if (!POD_SELF_FENCING.includes(policy)) out.push(notSupported(at, policy, POD_SELF_FENCING));
  else if (policy === 'off' && usesClaim(pod)) out.push(invalid(at, policy, CLAIM));
  else if (policy === 'exclusive' && !isUnique(pod)) out.push(invalid(at, policy, NO_NAME));
}

const CLAIM =
  'a pod that uses a claim cannot exclude itself, because its volume is released with the promise of its node: ' +
  'remove the annotation, or place the pod on nodes that run with --self-fencing off';
const NO_NAME =
  'an exclusive pod is known by its name: leave out spec.hostname or set it to the name, ' +
  'which must be a DNS label of at most 63 characters';
