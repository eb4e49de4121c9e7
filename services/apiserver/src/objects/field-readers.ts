import type { KubeObject, ResourceDefinition } from '@holdfast/api';
import type { FieldReader } from '../cache/watcher-index.ts';
import type { Kinds } from '../kinds/custom-kinds.ts';
import { versionOf } from './stored-object.ts';

type FieldReaders = Readonly<Record<string, FieldReader>>;

const NONE: FieldReaders = {};

/**
 * The indexed fields of stored objects for watches and lists. All versions of a built-in kind have the same fields; a
 * custom kind uses those of its storage version, as displayed.
 */
export function fieldReadersOf(kinds: Kinds, group: string, resource: string): FieldReaders {
  const definition = kinds.anyVersion(group, resource);
  if (definition === undefined) return NONE;
  const { custom } = definition;
  if (custom === undefined) return definition.selectableFields;
  const storage = custom.sibling(custom.storageVersion);
  if (storage === undefined) return NONE;
  const known = readers.get(storage) ?? readersOf(storage);
  readers.set(storage, known);
  return known;
}

const readers = new WeakMap<ResourceDefinition, FieldReaders>();

function readersOf(storage: ResourceDefinition): FieldReaders {
  const shown = (object: KubeObject): KubeObject =>
    versionOf(object) === storage.version ? (storage.custom?.readStored(object) ?? object) : object;
  return Object.fromEntries(
    Object.entries(storage.selectableFields).map(([field, read]) => [
      field,
      (object: KubeObject) => read(shown(object)),
    ]),
  );
}

/** True when the index of stored objects equals the displayed fields of this kind. */
export const isIndexed = ({ storedAs, custom, version }: ResourceDefinition): boolean =>
  storedAs === undefined && (custom === undefined || custom.storageVersion === version);
