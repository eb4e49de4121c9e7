import { describeError } from '@holdfast/platform';
import {
  isSealed,
  resourcePrefix,
  SEALED_PREFIX,
  type SealedReader,
  type Sealer,
  type StoredValue,
  type StoreKey,
  Unreadable,
  Unsealable,
  type WriteOperation,
} from '@holdfast/store';
import type { SealedForm } from './forms.ts';

/** One key of one provider; `identity` does not encrypt. */
export type ConfiguredKey =
  | { readonly provider: 'identity' }
  /** `provider` with the version of its form, as in the prefix of stored values: `aesgcm:v1`. */
  | { readonly provider: string; readonly form: SealedForm };

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
  const remote = new Set(rules.flatMap(({ keys }) => keys.flatMap(remoteForm)));
  return {
    covers: (key) => keysOf(key) !== undefined,
    seal: (key, value, kind) => keysOf(key)?.seal(key, value, kind) ?? value,
    open: (key, stored) => (keysOf(key) ?? NO_KEYS).open(key, stored),
    ...(remote.size === 0 ? {} : remoteParts(remote, keysOf)),
  };
}

const remoteForm = (key: ConfiguredKey): readonly SealedForm[] =>
  'form' in key && key.form.prepare !== undefined ? [key.form] : [];

/** Only for forms whose keys come from elsewhere: without them nothing waits. */
function remoteParts(
  remote: ReadonlySet<SealedForm>,
  keysOf: (key: StoreKey) => ResourceKeys | undefined,
): Required<Pick<Sealer, 'prepare' | 'onReady'>> {
  return {
    prepare: (values, reader) => prepareAll(textsByForm(values, remote, keysOf), reader),
    onReady: (listener) => {
      for (const form of remote) form.onReady?.(listener);
    },
  };
}

function textsByForm(
  values: readonly StoredValue[],
  remote: ReadonlySet<SealedForm>,
  keysOf: (key: StoreKey) => ResourceKeys | undefined,
): ReadonlyMap<SealedForm, readonly string[]> {
  const texts = new Map<SealedForm, string[]>();
  for (const { key, value } of values) {
    if (!isSealed(value)) continue;
    const found = keysOf(key)?.find(value);
    if (found === undefined || !remote.has(found.form)) continue;
    const known = texts.get(found.form);
    if (known === undefined) texts.set(found.form, [found.text]);
    else known.push(found.text);
  }
  return texts;
}

function prepareAll(
  texts: ReadonlyMap<SealedForm, readonly string[]>,
  reader: SealedReader,
): Promise<void> | undefined {
  const waits = [...texts].flatMap(([form, each]) => form.prepare?.(each, reader) ?? []);
  return waits.length === 0 ? undefined : Promise.all(waits).then(() => {});
}

const SEALED = /^k8s:enc:([a-z]+:v[12]):([^:]*):/;

interface FoundForm {
  readonly form: SealedForm;
  readonly index: number;
  readonly text: string;
}

class ResourceKeys {
  readonly #keys: readonly ConfiguredKey[];

  constructor(keys: readonly ConfiguredKey[]) {
    this.#keys = keys;
  }

  seal(at: StoreKey, value: string, kind: WriteOperation['kind']): string {
    const [first] = this.#keys;
    if (first === undefined || !('form' in first)) return value;
    const { provider, form } = first;
    return `${SEALED_PREFIX}${provider}:${form.name}:${sealWith(form, Buffer.from(value), { at, kind })}`;
  }

  open(at: StoreKey, stored: string): { readonly value: string; readonly isStale: boolean } {
    if (!isSealed(stored)) return this.#plain(at, stored);
    const failures = new Set<string>();
    for (const { form, index, text } of this.#matching(stored)) {
      try {
        const { bytes, isStale } = form.open(text, at);
        return { value: bytes.toString('utf8'), isStale: isStale || index > 0 };
      } catch (error) {
        failures.add(`key ${JSON.stringify(form.name)}: ${describeError(error)}`);
      }
    }
    throw new Unreadable(at, failures.size === 0 ? noKeyFor(stored) : [...failures].join('; '));
  }

  /** The form that wrote the value, and the text behind its prefix. The names of remote forms are unique. */
  find(stored: string): FoundForm | undefined {
    const [first] = this.#matching(stored);
    return first;
  }

  /** Two entries of one provider may have a key of the same name: a new one, and one that is rotated away from. */
  *#matching(stored: string): Iterable<FoundForm> {
    const [head, provider, name] = SEALED.exec(stored) ?? [];
    if (head === undefined) return;
    for (const [index, key] of this.#keys.entries()) {
      if (!('form' in key) || key.provider !== provider || key.form.name !== name) continue;
      yield { form: key.form, index, text: stored.slice(head.length) };
    }
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

function noKeyFor(stored: string): string {
  const [, provider = '', name = ''] = SEALED.exec(stored) ?? [];
  return `no matching prefix found: no key ${JSON.stringify(name)} of ${provider.split(':')[0]} is configured for it`;
}

interface SealedPlace {
  readonly at: StoreKey;
  readonly kind: WriteOperation['kind'];
}

function sealWith(form: SealedForm, plain: Buffer, { at, kind }: SealedPlace): string {
  try {
    return form.seal(plain, at, kind);
  } catch (error) {
    throw new Unsealable(at, `key ${JSON.stringify(form.name)}: ${describeError(error)}`);
  }
}
