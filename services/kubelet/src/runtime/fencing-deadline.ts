/** Shared by the kubelet and by the programs that keep the deadline: pure, and free of imports. */

/** The pods that the deadline ends. */
export type FencingPolicy = 'exclusive' | 'all';

/** The class of a sandbox: `other` only with the policy `all`, `never` not even then. */
export type FencingClass = 'exclusive' | 'other' | 'never';

export interface FencingDeadline {
  readonly untilMs: number;
  readonly policy: FencingPolicy;
}

/** Counted from the sending: an answer that took long shortens what is left. */
export const deadlineAfter = (sentAtMs: number, durationMs: number): number => sentAtMs + durationMs;

export const isPast = (deadline: FencingDeadline, nowMs: number): boolean => nowMs >= deadline.untilMs;

/** A sandbox of which nothing is known was made before there were promises. */
export const isCoveredBy = (policy: FencingPolicy, fencing: FencingClass | undefined): boolean =>
  fencing === undefined || fencing === 'exclusive' || (fencing === 'other' && policy === 'all');

/** Covers what any of them covers. Undefined: none of them covers anything. */
export function widest(...policies: readonly (FencingPolicy | undefined)[]): FencingPolicy | undefined {
  return policies.find((each) => each === 'all') ?? policies.find((each) => each !== undefined);
}

/**
 * True when a process of such a sandbox may start now. `startBeforeMs` is the deadline at the time when the API
 * confirmed the pod: a request that took longer is refused, even when another promise is in force by now. Without a
 * promise nothing is refused.
 */
export function mayStart(
  deadline: FencingDeadline | undefined,
  fencing: FencingClass | undefined,
  { startBeforeMs, nowMs }: { readonly startBeforeMs: number | undefined; readonly nowMs: number },
): boolean {
  if (startBeforeMs !== undefined && nowMs >= startBeforeMs) return false;
  if (deadline === undefined || fencing === undefined || !isCoveredBy(deadline.policy, fencing)) return true;
  return startBeforeMs !== undefined && !isPast(deadline, nowMs);
}
