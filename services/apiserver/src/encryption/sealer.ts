import { describeError } from '@holdfast/platform';
import { isSealed, resourcePrefix, SEALED_PREFIX, type Sealer, type StoreKey, Unreadable } from '@holdfast/store';
import type { SealingKey } from './providers.ts';

/** One key of one provider; `identity` does not encrypt. */
export type ConfiguredKey = { readonly provider: 'identity' } | { readonly provider: string; readonly key: SealingKey };

export interface EncryptionRule {
  readonly resources: readonly { readonly group: string; readonly resource: string }[];
  /** The first writes, all read. */
  readonly keys: readonly ConfiguredKey[];
}

/** The first rule that names a resource counts for it. */
export function createSealer(rules: readonly EncryptionRule[]): Sealer {
  const byPrefix = new Map<string, ResourceKeys>();
  for (const { resources, keys } of rules.toReversed()) {
    const known = new ResourceKeys(keys);
    for (const { group, resource } of resources) byPrefix.set(resourcePrefix(group, resource), known);
  }
  const keysOf = (key: StoreKey): ResourceKeys | undefined =>
    byPrefix.get(key.slice(0, key.indexOf('/', key.indexOf('/') + 1) + 1));
  return {
    covers: (key) => keysOf(key) !== undefined,
    seal: (key, value) => keysOf(key)?.seal(key, value) ?? value,
    open: (key, stored) => (keysOf(key) ?? NO_KEYS).open(key, stored),
  };
}

const SEALED = /^k8s:enc:([a-z]+):v1:([^:]*):/;

class ResourceKeys {
  readonly #keys: readonly ConfiguredKey[];

  constructor(keys: readonly ConfiguredKey[]) {
    this.#keys = keys;
  }

  seal(at: StoreKey, value: string): string {
    const [first] = this.#keys;
    if (first === undefined || !('key' in first)) return value;
    const { provider, key } = first;
    const bytes = key.seal(Buffer.from(value), at).toString('base64');
    return `${SEALED_PREFIX}${provider}:v1:${key.name}:${bytes}`;
  }

  open(at: StoreKey, stored: string): { readonly value: string; readonly isStale: boolean } {
    if (!isSealed(stored)) return this.#plain(at, stored);
    const [head, provider = '', name = ''] = SEALED.exec(stored) ?? [];
    const index = this.#keys.findIndex((each) => each.provider === provider && 'key' in each && each.key.name === name);
    const found = this.#keys[index];
    if (head === undefined || found === undefined || !('key' in found)) {
      throw new Unreadable(
        at,
        `no matching prefix found: no key ${JSON.stringify(name)} of ${provider} is configured for it`,
      );
    }
    const bytes = Buffer.from(stored.slice(head.length), 'base64');
    return { value: openWith(found.key, bytes, at).toString('utf8'), isStale: index > 0 };
  }

  #plain(at: StoreKey, value: string): { readonly value: string; readonly isStale: boolean } {
    const index = this.#keys.findIndex(({ provider }) => provider === 'identity');
    if (index >= 0 || this.#keys.length === 0) return { value, isStale: index > 0 };
    throw new Unreadable(
      at,
      'no matching prefix found: it is not encrypted, and the provider identity is not configured',
    );
  }
}

const NO_KEYS = new ResourceKeys([]);

function openWith(key: SealingKey, bytes: Buffer, at: StoreKey): Buffer {
  try {
    return key.open(bytes, at);
  } catch (error) {
    throw new Unreadable(at, `key ${JSON.stringify(key.name)}: ${describeError(error)}`);
  }
}
