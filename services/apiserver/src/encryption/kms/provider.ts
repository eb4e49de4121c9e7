import { describeError, type Log, type Service, secureBytes, type Timer } from '@holdfast/platform';
import type { SealedReader, WriteOperation } from '@holdfast/store';
import { KMS_STATUS_INTERVAL_MS, KMS_STATUS_RETRY_MS, KMS_WRITES_WITHOUT_STATUS_MS } from '../../limits.ts';
import type { SealedForm } from '../forms.ts';
import { type EncryptedSeed, type KmsCallMeasure, KmsPlugin, type KmsSettings } from './plugin.ts';
import { decodeSource, encodeSource, openWithSeed, SEED_BYTES, sealWithSeed } from './seed.ts';
import { type KmsTools, SeedCache } from './seed-cache.ts';

/** The seed that writes. */
interface CurrentSeed {
  readonly seed: Buffer;
  readonly keyId: string;
  readonly source: string;
  /** The end of writes with it, on the monotonic clock. Each good status moves it. */
  readonly validUntil: number;
}

const SEPARATOR = ':';

/**
 * One provider of KMS v2. The plugin encrypts one random seed for this server; every object gets a key derived from it.
 * The status of the plugin is polled, and a new key id makes a new seed.
 */
export class KmsProvider implements SealedForm, Service {
  readonly name: string;
  readonly #plugin: KmsPlugin;
  readonly #tools: KmsTools;
  readonly #log: Log;
  readonly #seeds: SeedCache;
  readonly #listeners: (() => void)[] = [];
  #current: CurrentSeed | undefined;
  #problem: string | undefined = 'its status is not known yet';
  #timer: Timer | undefined;
  #nextLookMs = Number.POSITIVE_INFINITY;
  #isLooking = false;
  #isStopped = false;

  constructor(settings: KmsSettings, tools: KmsTools & { readonly log: Log }) {
    this.name = settings.name;
    this.#plugin = new KmsPlugin(settings, tools.clock);
    this.#tools = tools;
    this.#log = tools.log;
    this.#seeds = new SeedCache(this.#plugin, settings.timeoutMs, {
      ...tools,
      onSeed: () => this.#tell(),
      onUnreachable: () => this.#lookIn(KMS_STATUS_RETRY_MS),
    });
  }

  /** Also resolves when the plugin does not answer: the server starts, and is not ready. */
  async start(): Promise<void> {
    await this.#look();
  }

  async stop(): Promise<void> {
    this.#isStopped = true;
    this.#timer?.cancel();
    this.#plugin.close();
  }

  /** Empty when the last status was good. */
  problems(): readonly string[] {
    return this.#problem === undefined ? [] : [`KMS provider ${JSON.stringify(this.name)}: ${this.#problem}`];
  }

  onCall(listener: (measure: KmsCallMeasure) => void): void {
    this.#plugin.onCall(listener);
  }

  /** Decrypted seeds in memory. */
  seedCount(): number {
    return this.#seeds.size;
  }

  seal(plain: Buffer, at: string, kind: WriteOperation['kind']): string {
    const current = this.#current;
    if (current === undefined) throw new Error(`there is no key yet: ${this.#problem ?? ''}`);
    // The last state of a deleted object leaves the store with the history.
    if (kind !== 'delete' && this.#tools.clock.monotonic() >= current.validUntil) {
      const minutes = KMS_WRITES_WITHOUT_STATUS_MS / 60_000;
      throw new Error(`the plugin had no good status for ${minutes} minutes: ${this.#problem ?? 'a status is late'}`);
    }
    return `${current.source}${SEPARATOR}${sealWithSeed(current.seed, plain, at).toString('base64')}`;
  }

  open(text: string, at: string): { readonly bytes: Buffer; readonly isStale: boolean } {
    const { source, data } = parted(text);
    const current = this.#current;
    if (current?.source === source) return { bytes: openWithSeed(current.seed, data(), at), isStale: false };
    const { seed, keyId } = this.#seeds.get(source);
    return { bytes: openWithSeed(seed, data(), at), isStale: current !== undefined && current.keyId !== keyId };
  }

  prepare(texts: readonly string[], reader: SealedReader): Promise<void> | undefined {
    const missing = new Set<string>();
    for (const text of texts) {
      const { source } = parted(text);
      if (source !== this.#current?.source && !this.#seeds.has(source)) missing.add(source);
    }
    return missing.size === 0 ? undefined : this.#seeds.fetch(missing, reader);
  }

  onReady(listener: () => void): void {
    this.#listeners.push(listener);
  }

  async #look(): Promise<void> {
    this.#isLooking = true;
    // The time of the call counts: a slow answer does not lengthen the use of a key.
    const validUntil = this.#tools.clock.monotonic() + KMS_WRITES_WITHOUT_STATUS_MS;
    try {
      const keyId = await this.#plugin.healthyKeyId();
      const current = this.#current;
      this.#current = current?.keyId === keyId ? { ...current, validUntil } : await this.#newSeed(validUntil);
      this.#report(undefined);
    } catch (error) {
      this.#report(describeError(error));
    }
    this.#isLooking = false;
    this.#nextLookMs = Number.POSITIVE_INFINITY;
    this.#lookIn(this.#problem === undefined ? KMS_STATUS_INTERVAL_MS : KMS_STATUS_RETRY_MS);
  }

  /** Moves the next look forward, never back. */
  #lookIn(delayMs: number): void {
    const atMs = this.#tools.clock.monotonic() + delayMs;
    if (this.#isStopped || this.#isLooking || atMs >= this.#nextLookMs) return;
    this.#timer?.cancel();
    this.#nextLookMs = atMs;
    this.#timer = this.#tools.clock.timer(delayMs, () => void this.#look());
  }

  async #newSeed(validUntil: number): Promise<CurrentSeed> {
    const seed = secureBytes(SEED_BYTES);
    const encrypted: EncryptedSeed = await this.#plugin.encrypt(seed, this.#tools.ids.uuid());
    const source = encodeSource(encrypted);
    // The objects of the seed are read after it has been replaced, too.
    this.#seeds.set(source, { seed, keyId: decodeSource(source).keyId });
    return { seed, keyId: encrypted.keyId, source, validUntil };
  }

  #report(problem: string | undefined): void {
    if (problem !== this.#problem && !this.#isStopped) {
      const provider = this.name;
      if (problem === undefined) this.#log.info('the KMS plugin is healthy', { provider });
      else this.#log.warn('the KMS plugin is not healthy', { provider, reason: problem });
    }
    this.#problem = problem;
    if (problem !== undefined) return;
    this.#seeds.tryAgain();
    this.#tell();
  }

  #tell(): void {
    for (const listener of this.#listeners) listener();
  }
}

/** The data are decoded only when they are needed. */
function parted(text: string): { readonly source: string; readonly data: () => Buffer } {
  const at = text.indexOf(SEPARATOR);
  return { source: text.slice(0, Math.max(0, at)), data: () => Buffer.from(text.slice(at + 1), 'base64') };
}
