import type { AdmissionRequest } from '../port.ts';

/**
 * The webhooks that have seen a request, and the object they left: those with a reinvocation policy run again after a
 * later change.
 */
export interface Invocation {
  /** The object as text after the latest change. */
  latest: string;
  /** By webhook: the object as text when it had seen it. */
  readonly seen: Map<string, string>;
  isSecondRound: boolean;
}

const invocations = new WeakMap<AdmissionRequest, Invocation>();

export function invocationOf(request: AdmissionRequest): Invocation {
  const known = invocations.get(request);
  if (known !== undefined) return known;
  const made: Invocation = { latest: '', seen: new Map(), isSecondRound: false };
  invocations.set(request, made);
  return made;
}

/** True once after a webhook changed the object: the plugins that change objects then run again. */
export function beginSecondRound(request: AdmissionRequest): boolean {
  const invocation = invocations.get(request);
  if (invocation === undefined || invocation.isSecondRound || invocation.latest === '') return false;
  invocation.isSecondRound = true;
  return true;
}
