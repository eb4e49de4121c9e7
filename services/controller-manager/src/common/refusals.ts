import { AsyncLocalStorage } from 'node:async_hooks';
import { REFUSED_WRITE_RECHECK_MAX_MS, REFUSED_WRITE_RECHECK_MS } from '../limits.ts';
import type { Reconcile } from './context.ts';

interface Pass {
  isRefused: boolean;
}

const passes = new AsyncLocalStorage<Pass>();

/** Notes that a write of the present pass met a conflict. */
export function noteRefusal(): void {
  const pass = passes.getStore();
  if (pass !== undefined) pass.isRefused = true;
}

/**
 * Looks again after a pass of which a write met a conflict. Mostly a change wakes the key before. But a webhook may refuse
 * without a change, and then nothing does. The wait doubles while every pass is refused.
 */
export function againAfterRefusal(reconcile: Reconcile): Reconcile {
  const waits = new Map<string, number>();
  return async (key) => {
    const pass: Pass = { isRefused: false };
    const result = await passes.run(pass, () => reconcile(key));
    if (!pass.isRefused) {
      waits.delete(key);
      return result;
    }
    const waitMs = waits.get(key) ?? REFUSED_WRITE_RECHECK_MS;
    waits.set(key, Math.min(2 * waitMs, REFUSED_WRITE_RECHECK_MAX_MS));
    return { ...result, requeueAfterMs: Math.min(result.requeueAfterMs ?? waitMs, waitMs) };
  };
}
