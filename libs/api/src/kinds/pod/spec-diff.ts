import type { PodSpec } from '../../generated/types.ts';
import { goDiff } from '../../validation/go/diff.ts';

const OF_THE_HOST = ['hostNetwork', 'hostPID', 'hostIPC', 'shareProcessNamespace', 'hostUsers'] as const;

/**
 * Formats the difference between the old and the new spec. In Kubernetes' internal type the host namespaces belong to
 * the security context.
 */
export const podSpecDiff = (old: Readonly<PodSpec>, changed: Readonly<PodSpec>): string =>
  goDiff('core.PodSpec', asInside(old), asInside(changed));

function asInside(spec: Readonly<PodSpec>): object {
  const shared = Object.fromEntries(OF_THE_HOST.flatMap((key) => (spec[key] === undefined ? [] : [[key, spec[key]]])));
  return { ...spec, securityContext: { ...spec.securityContext, ...shared } };
}
