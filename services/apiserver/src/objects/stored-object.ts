import type { CustomKind, KubeObject, ResourceDefinition } from '@holdfast/api';
import { type StatusError, unclassifiedError } from '@holdfast/machinery';
import { CachedObject, ConvertedObject } from '../cache/cached-object.ts';
import { encodeStored } from '../cache/stored-json.ts';

/** Under which name a kind is kept: some are another version or group of one thing. */
export const storedNameOf = (definition: ResourceDefinition): { readonly group: string; readonly plural: string } =>
  definition.storedAs ?? definition;

/** The stored object as this kind shows it. */
export function asServed(definition: ResourceDefinition, stored: CachedObject): CachedObject {
  const { storedAs, custom } = definition;
  if (custom !== undefined) return customAsServed(definition, custom, stored);
  if (storedAs === undefined) return stored;
  return new CachedObject(stored.key, encodeStored(storedAs.fromStored(stored.object)), stored.revision);
}

/** What is kept of an object of this kind. */
export function asStored(definition: ResourceDefinition, object: KubeObject): KubeObject {
  const { storedAs, custom } = definition;
  if (custom !== undefined) return inVersion(definition, custom.storageVersion, object);
  return storedAs === undefined ? object : storedAs.toStored(object);
}

/** The same for an object without its stored text. */
export function shownObject(definition: ResourceDefinition, stored: KubeObject): KubeObject {
  const { storedAs, custom } = definition;
  if (custom !== undefined) return readStored(definition, custom, stored);
  return storedAs === undefined ? stored : storedAs.fromStored(stored);
}

/** How each state of a custom resource is shown: found out once, for everybody who reads it. */
const shown = new WeakMap<ResourceDefinition, WeakMap<CachedObject, CachedObject>>();

function shownBy(definition: ResourceDefinition): WeakMap<CachedObject, CachedObject> {
  const known = shown.get(definition) ?? new WeakMap<CachedObject, CachedObject>();
  shown.set(definition, known);
  return known;
}

/** What a webhook made of a state. */
export function rememberShown(definition: ResourceDefinition, stored: CachedObject, served: CachedObject): void {
  shownBy(definition).set(stored, served);
}

export const isShownAlready = (definition: ResourceDefinition, stored: CachedObject): boolean =>
  shownBy(definition).has(stored);

/** A stored object as the version reads it in which it is stored. */
export function storedReading(definition: ResourceDefinition, object: KubeObject): KubeObject {
  const { custom } = definition;
  const storedIn = custom?.sibling(versionOf(object))?.custom ?? custom;
  return storedIn?.readStored(object) ?? object;
}

/** What this server wrote has just been read by the schema. */
export function isShownAsStored(definition: ResourceDefinition, written: CachedObject): void {
  if (definition.custom !== undefined) shownBy(definition).set(written, written);
}

function customAsServed(definition: ResourceDefinition, custom: CustomKind, stored: CachedObject): CachedObject {
  const known = shownBy(definition);
  const found = known.get(stored);
  if (found !== undefined) return found;
  const { object } = stored;
  const read = readStored(definition, custom, object);
  const served = read === object ? stored : new ConvertedObject(stored.key, encodeStored(read), stored.revision);
  known.set(stored, served);
  return served;
}

/** First as the version reads it in which it is stored, then as the one reads it that is asked for. */
function readStored(definition: ResourceDefinition, custom: CustomKind, object: KubeObject): KubeObject {
  const version = versionOf(object);
  const storedIn = version === definition.version ? custom : custom.sibling(version)?.custom;
  return inVersion(definition, definition.version, (storedIn ?? custom).readStored(object));
}

/** Versions that are not converted differ in what they have, and in their name. */
function inVersion(definition: ResourceDefinition, version: string, object: KubeObject): KubeObject {
  const { custom } = definition;
  if (custom === undefined || versionOf(object) === version) return object;
  if (custom.conversion === 'Webhook') throw notConverted(object);
  const target = version === definition.version ? custom : (custom.sibling(version)?.custom ?? custom);
  return target.fit({ ...object, apiVersion: `${definition.group}/${version}` });
}

/** A guess would lose fields, so the caller gets an error. */
const notConverted = ({ apiVersion, kind }: KubeObject): StatusError =>
  unclassifiedError(
    `conversion webhook for ${apiVersion}, Kind=${kind} failed: its objects cannot be selected by fields in a version in which they are not stored`,
  );

export const versionOf = ({ apiVersion }: Readonly<KubeObject>): string =>
  apiVersion.slice(apiVersion.indexOf('/') + 1);
