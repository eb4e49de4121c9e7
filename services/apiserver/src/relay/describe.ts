import { type Change, type KeyParts, parseKey } from '@holdfast/store';

/** What the relay must know of a change to place it on the bus. */
export interface Described {
  readonly parts: KeyParts;
  /** Pods only: `spec.nodeName`, '' while unbound. */
  readonly nodeName?: string;
  /** JSON text of the object with its `metadata.resourceVersion`; `undefined` when its content must not be on the bus. */
  readonly objectJson: () => string | undefined;
}

/** The apiserver may pass one that shares the bytes of its watch cache. */
export type Describe = (change: Change) => Described;

/** Every subscriber of a channel may read its messages, and reading these needs a permission of its own. */
const KEY_ONLY = new Set(['/secrets', '/configmaps']);

export const describeChange: Describe = (change) => {
  const parts = parseKey(change.key);
  const hidden = KEY_ONLY.has(`${parts.group}/${parts.resource}`);
  const objectJson = (): string | undefined =>
    hidden ? undefined : withResourceVersion(change.value, change.revision);
  return isPod(parts) ? { parts, nodeName: nodeNameOf(change.value), objectJson } : { parts, objectJson };
};

export function isPod(parts: KeyParts): boolean {
  return parts.group === '' && parts.resource === 'pods';
}

export function nodeNameOf(podJson: string): string {
  // Most changes of a pod that waits: no need to parse it.
  if (!podJson.includes('"nodeName":')) return '';
  const name = property(property(JSON.parse(podJson), 'spec'), 'nodeName');
  return typeof name === 'string' ? name : '';
}

/** Head of an object as the apiserver writes it; anything else takes the slow path. */
const METADATA_FIRST = /^\{(?:"(?:kind|apiVersion)":"[^"\\]*",)*"metadata":\{(?=")/;

/** Inserts without parsing where the text allows: this runs once for every change of the cluster. */
export function withResourceVersion(objectJson: string, revision: number): string {
  const head = METADATA_FIRST.exec(objectJson)?.[0];
  if (head !== undefined) return `${head}"resourceVersion":"${revision}",${objectJson.slice(head.length)}`;
  const object: unknown = JSON.parse(objectJson);
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
