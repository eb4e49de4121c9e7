import type { KubeObject, ResourceDefinition } from '@holdfast/api';
import { CachedObject } from './cache/cached-object.ts';
import { encodeStored } from './cache/stored-json.ts';

/** Under which name a kind is kept: some are another version or group of one thing. */
export const storedNameOf = (definition: ResourceDefinition): { readonly group: string; readonly plural: string } =>
  definition.storedAs ?? definition;

/** The stored object as this kind shows it. */
export function asServed(definition: ResourceDefinition, stored: CachedObject): CachedObject {
  const { storedAs } = definition;
  if (storedAs === undefined) return stored;
  return new CachedObject(stored.key, encodeStored(storedAs.fromStored(stored.object)), stored.revision);
}

/** What is kept of an object of this kind. */
export const asStored = (definition: ResourceDefinition, object: KubeObject): KubeObject =>
  definition.storedAs === undefined ? object : definition.storedAs.toStored(object);
