import type { KubeObject } from '@holdfast/api';
import type { Informer } from '@holdfast/client';
import { CACHE_BARRIER_RECHECK_MS, DELETE_EXPECTATION_TTL_MS } from '../limits.ts';
import { isTerminating, revisionOf, targetOf, uidOf } from './meta.ts';

interface PendingDelete {
  readonly object: KubeObject;
  readonly expiresAtMs: number;
  /** No response came: the delete must be repeated for the same object. */
  readonly unanswered: boolean;
  /** The deletion counts only when the object is gone, not when it is terminating. */
  readonly isGone?: boolean;
}

interface PendingWrite {
  readonly object: KubeObject;
  readonly revision: number;
}

/**
 * Remembers, per work item, what this process has written and the cache does not show yet. A decision that counts objects
 * may only be taken on a cache that reflects all of it; otherwise the same shortage would be filled twice.
 * A write is awaited until the cache shows the object at that revision or its later deletion, or as a whole is known to be
 * past it (then the object has been seen and is gone again); a deletion until the object is gone or terminating in the cache.
 */
export class CacheBarrier {
  readonly #writes = new Map<string, Map<string, PendingWrite>>();
  readonly #deletes = new Map<string, Map<string, PendingDelete>>();

  wrote(key: string, object: KubeObject): void {
    const pending = this.#writes.get(key) ?? new Map<string, PendingWrite>();
    pending.set(uidOf(object), { object, revision: revisionOf(object) });
    this.#writes.set(key, pending);
  }

  deleting(key: string, object: KubeObject, nowMs: number): void {
    this.#expect(key, { object, expiresAtMs: nowMs + DELETE_EXPECTATION_TTL_MS, unanswered: false });
  }

  deleteUnanswered(key: string, object: KubeObject, nowMs: number): void {
    this.#expect(key, { object, expiresAtMs: nowMs + DELETE_EXPECTATION_TTL_MS, unanswered: true });
  }

  /** The API does not have it any more. */
  gone(key: string, object: KubeObject, nowMs: number): void {
    const expiresAtMs = nowMs + DELETE_EXPECTATION_TTL_MS;
    this.#expect(key, { object, expiresAtMs, unanswered: false, isGone: true });
  }

  /** Returns uids of objects whose delete got no response. Valid after `isCaughtUp`. */
  unanswered(key: string): ReadonlySet<string> {
    const pending = [...(this.#deletes.get(key) ?? [])];
    return new Set(pending.filter(([, expected]) => expected.unanswered).map(([uid]) => uid));
  }

  #expect(key: string, expected: PendingDelete): void {
    const pending = this.#deletes.get(key) ?? new Map<string, PendingDelete>();
    pending.set(uidOf(expected.object), expected);
    this.#deletes.set(key, pending);
  }

  /** The server refused: the object stays as it is. */
  deleteRefused(key: string, object: KubeObject): void {
    this.#deletes.get(key)?.delete(uidOf(object));
  }

  isCaughtUp<T extends KubeObject>(key: string, informer: Informer<T>, nowMs: number): boolean {
    const writes = this.#writes.get(key) ?? new Map<string, PendingWrite>();
    for (const [uid, write] of writes)
      if (informer.reflects(targetOf(write.object), write.revision)) writes.delete(uid);
    const deletes = this.#deletes.get(key) ?? new Map<string, PendingDelete>();
    for (const [uid, expected] of deletes) {
      if (expected.expiresAtMs <= nowMs || isDeletionShown(informer, expected)) deletes.delete(uid);
    }
    return writes.size === 0 && deletes.size === 0;
  }

  /**
   * An object that was just written may be gone before the cache shows it. Then no cache event triggers the next pass.
   */
  lookAgainMs<T extends KubeObject>(key: string, informer: Informer<T>, nowMs: number): readonly number[] {
    return this.isCaughtUp(key, informer, nowMs) ? [] : [CACHE_BARRIER_RECHECK_MS];
  }

  forget(key: string): void {
    this.#writes.delete(key);
    this.#deletes.delete(key);
  }
}

function isDeletionShown<T extends KubeObject>(informer: Informer<T>, { object, isGone }: PendingDelete): boolean {
  const cached = informer.get(targetOf(object));
  if (cached === undefined || uidOf(cached) !== uidOf(object)) return true;
  return isGone !== true && isTerminating(cached);
}
