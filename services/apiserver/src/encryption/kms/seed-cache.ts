import { createHash } from 'node:crypto';
import { type Clock, describeError, type Ids, RecentMap } from '@holdfast/platform';
import type { SealedReader } from '@holdfast/store';
import {
  KMS_DECRYPTIONS_AT_ONCE,
  KMS_FAILURES_KEPT,
  KMS_FEED_WAIT_MS,
  KMS_SEEDS_KEPT,
  KMS_STATUS_RETRY_MS,
} from '../../limits.ts';
import { Places } from '../../turns/places.ts';
import { type KmsPlugin, KmsTimeout, KmsUnreachable } from './plugin.ts';
import { decodeSource, SEED_BYTES } from './seed.ts';

export interface KmsTools {
  readonly clock: Clock;
  readonly ids: Ids;
}

export interface KnownSeed {
  readonly seed: Buffer;
  readonly keyId: string;
}

interface Work {
  readonly done: Promise<void>;
  readonly sinceMs: number;
}

interface Failure {
  readonly why: string;
  readonly atMs: number;
}

interface SeedCacheDeps extends KmsTools {
  /** The plugin has decrypted a seed. */
  readonly onSeed: () => void;
  readonly onUnreachable: () => void;
}

/** Decrypted seeds. The plugin decrypts each of them once, a few at a time. */
export class SeedCache {
  readonly #plugin: KmsPlugin;
  readonly #timeoutMs: number;
  readonly #deps: SeedCacheDeps;
  readonly #seeds = new RecentMap<string, KnownSeed>(KMS_SEEDS_KEPT);
  readonly #failures = new RecentMap<string, Failure>(KMS_FAILURES_KEPT);
  readonly #underWay = new Map<string, Work>();
  readonly #places = new Places(KMS_DECRYPTIONS_AT_ONCE);
  /** A plugin that hangs is left alone for a while: each call of it would cost a whole timeout. */
  #hung: Failure | undefined;
  /** Neighbouring objects often have the same seed. */
  #last: { readonly source: string; readonly known: KnownSeed } | undefined;

  constructor(plugin: KmsPlugin, timeoutMs: number, deps: SeedCacheDeps) {
    this.#plugin = plugin;
    this.#timeoutMs = timeoutMs;
    this.#deps = deps;
  }

  get size(): number {
    return this.#seeds.size;
  }

  has(source: string): boolean {
    return this.#last?.source === source || this.#seeds.get(keyOf(source)) !== undefined;
  }

  /** Throws with the reason when the seed is not at hand. */
  get(source: string): KnownSeed {
    if (this.#last?.source === source) return this.#last.known;
    const key = keyOf(source);
    const known = this.#seeds.touch(key);
    if (known === undefined) throw new Error(this.#why(key));
    this.#last = { source, known };
    return known;
  }

  set(source: string, known: KnownSeed): void {
    this.#seeds.set(keyOf(source), known);
  }

  /** Resolves when all are decrypted or failed, at the latest after the timeout. What is under way goes on. */
  async fetch(sources: ReadonlySet<string>, reader: SealedReader): Promise<void> {
    const all = Promise.all([...sources].map((source) => this.#fetchOne(source, reader)));
    const waitMs = reader === 'feed' ? Math.min(this.#timeoutMs, KMS_FEED_WAIT_MS) : this.#timeoutMs;
    const { promise: late, resolve } = Promise.withResolvers<void>();
    const timer = this.#deps.clock.timer(waitMs, resolve);
    await Promise.race([all, late]);
    timer.cancel();
  }

  /** The plugin answers again. */
  tryAgain(): void {
    this.#hung = undefined;
  }

  #why(key: string): string {
    const failure = this.#failures.get(key) ?? this.#hung;
    return failure?.why ?? 'the plugin has not decrypted the key of the object yet; try again';
  }

  #fetchOne(source: string, reader: SealedReader): Promise<void> {
    const key = keyOf(source);
    const known = this.#underWay.get(key);
    if (reader === 'feed' && this.#isAwaited(known, key)) return Promise.resolve();
    if (known !== undefined) return known.done;
    if (this.#isHung()) return Promise.resolve();
    const done = this.#places.inTurn(() => this.#decrypt(source, key)).finally(() => this.#underWay.delete(key));
    this.#underWay.set(key, { done, sinceMs: this.#deps.clock.monotonic() });
    return done;
  }

  /** The feed carries all resources: it does not wait again for a slow answer, nor after a failure. */
  #isAwaited(work: Work | undefined, key: string): boolean {
    if (work === undefined) return this.#isRecent(this.#failures.get(key));
    return this.#deps.clock.monotonic() - work.sinceMs >= KMS_FEED_WAIT_MS;
  }

  async #decrypt(source: string, key: string): Promise<void> {
    if (this.#isHung()) return;
    try {
      const encrypted = decodeSource(source);
      const seed = await this.#plugin.decrypt(encrypted, this.#deps.ids.uuid());
      if (seed.length !== SEED_BYTES) throw new Error(`Decrypt returned ${seed.length} bytes, and not ${SEED_BYTES}`);
      this.#seeds.set(key, { seed, keyId: encrypted.keyId });
      this.#deps.onSeed();
    } catch (error) {
      const failure = { why: describeError(error), atMs: this.#deps.clock.monotonic() };
      this.#failures.set(key, failure);
      if (error instanceof KmsTimeout) this.#hung = failure;
      if (error instanceof KmsUnreachable) this.#deps.onUnreachable();
    }
  }

  #isHung(): boolean {
    return this.#isRecent(this.#hung);
  }

  #isRecent(failure: Failure | undefined): boolean {
    return failure !== undefined && this.#deps.clock.monotonic() - failure.atMs < KMS_STATUS_RETRY_MS;
  }
}

/** Sources can be long: the cache is bounded by the number of its entries. */
const keyOf = (source: string): string => createHash('sha256').update(source).digest('base64');
