import { deepFreeze, parseCompactJson } from '@holdfast/machinery';
import { type Change, isSealed, type KeyParts, parseKey, type Revision, type StoreKey } from '@holdfast/store';
import { parseStored } from '../cache/parse-stored.ts';
import { STATES_READ_KEPT } from './limits.ts';

/** The properties of a change that determine its place on the bus. */
export interface Described {
  readonly parts: KeyParts;
  /** Its content must not be on the bus. */
  readonly isHidden: boolean;
}

export function describeChange(change: Change): Described {
  const parts = parseKey(change.key);
  // An encrypted value has no usable text.
  return { parts, isHidden: (parts.group === '' && KEY_ONLY.has(parts.resource)) || isSealed(change.value) };
}

export type State = Pick<Change, 'key' | 'value' | 'revision'>;

/** The object of a state, deep-frozen and with its `metadata.resourceVersion`. */
export type ReadState = (state: State) => unknown;

/** Asks first who may have read it already. What has to be parsed is kept for a moment: several ask for it one after the other. */
export function createStateReader(known: KnownState | undefined): ReadState {
  const recent: ({ readonly revision: number; readonly value: string; readonly object: unknown } | undefined)[] = [];
  return ({ key, value, revision }) => {
    const found = known?.(key, revision);
    if (found !== undefined) return found;
    const slot = revision % STATES_READ_KEPT;
    const read = recent[slot];
    if (read?.revision === revision && read.value === value) return read.object;
    const object: unknown = deepFreeze(parseStored(key, withResourceVersion(value, revision)));
    recent[slot] = { revision, value, object };
    return object;
  };
}

/** The state of a key at exactly this revision, if it is at hand: deep-frozen, with its `metadata.resourceVersion`. */
export type KnownState = (key: StoreKey, revision: Revision) => object | undefined;

/** Every subscriber of a channel may read its messages, and reading these needs a permission of its own. */
const KEY_ONLY = new Set(['secrets', 'configmaps']);

export function isPod(parts: KeyParts): boolean {
  return parts.group === '' && parts.resource === 'pods';
}

/** `spec.nodeName` of the pod of a change, '' while unbound. */
export function nodeNameIn(pod: string, read: () => unknown): string {
  // Most changes of a pod that waits: no need to read it.
  if (!pod.includes('"nodeName":')) return '';
  const name = property(property(read(), 'spec'), 'nodeName');
  return typeof name === 'string' ? name : '';
}

export const nodeNameOf = (podJson: string): string => nodeNameIn(podJson, () => JSON.parse(podJson));

/** Head of an object as the apiserver writes it; anything else takes the slow path. */
const METADATA_FIRST = /^\{(?:"(?:kind|apiVersion)":"[^"\\]*",)*"metadata":\{(?=")/;

/** Inserts without parsing where possible: this runs once for every change of the cluster. */
export function withResourceVersion(objectJson: string, revision: number): string {
  const head = METADATA_FIRST.exec(objectJson)?.[0];
  if (head !== undefined) return `${head}"resourceVersion":"${revision}",${objectJson.slice(head.length)}`;
  const object: unknown = parseCompactJson(objectJson);
  if (!isRecord(object)) return objectJson;
  const metadata = isRecord(object['metadata']) ? object['metadata'] : {};
  return JSON.stringify({ ...object, metadata: { ...metadata, resourceVersion: String(revision) } });
}

function property(value: unknown, name: string): unknown {
  return isRecord(value) ? value[name] : undefined;
}

function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
