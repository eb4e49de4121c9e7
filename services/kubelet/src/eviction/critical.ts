import { isMirrorPod, type Pod } from '@holdfast/api';
import { isStatic } from '../domain/static-pod.ts';

/** The priority of `system-cluster-critical`; users' classes are far below. */
export const SYSTEM_CRITICAL_PRIORITY = 2_000_000_000;

/** The node must not end it to help itself: static pods, their mirrors, and what the cluster lives on. */
export function isCritical(pod: Pod): boolean {
  return isStatic(pod) || isMirrorPod(pod) || (pod.spec.priority ?? 0) >= SYSTEM_CRITICAL_PRIORITY;
}
