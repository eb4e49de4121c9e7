import { NAMESPACE_RECHECK_MAX_MS, NAMESPACE_RECHECK_MS } from '../../limits.ts';

/**
 * The wait before the next pass over a namespace: short while its content shrinks, doubled after each pass without
 * progress.
 */
export class Patience {
  readonly #before = new Map<string, { readonly remaining: number; readonly waitMs: number }>();

  waitMs(name: string, remaining: number): number {
    const before = this.#before.get(name);
    const isStuck = before !== undefined && remaining >= before.remaining;
    const waitMs = isStuck ? Math.min(before.waitMs * 2, NAMESPACE_RECHECK_MAX_MS) : NAMESPACE_RECHECK_MS;
    this.#before.set(name, { remaining, waitMs });
    return waitMs;
  }

  forget(name: string): void {
    this.#before.delete(name);
  }
}
