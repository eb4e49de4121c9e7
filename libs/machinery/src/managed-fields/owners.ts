import type { FieldPath } from '../fieldpath/element.ts';
import {
  differenceOf,
  EMPTY_FIELD_SET,
  equalSets,
  type FieldSet,
  fieldSetOf,
  intersectionOf,
  isEmptySet,
  pathsOf,
  unionOf,
  unionOfAll,
} from '../fieldpath/field-set.ts';
import { MAX_UPDATE_MANAGERS } from '../limits.ts';
import type { Comparison } from '../typed/compare.ts';
import { compareText, identifierOf, type ManagerId, type Owners, type Ownership } from './entries.ts';

/** Fields that the server maintains for every object: nobody owns them. */
const SERVER_FIELDS: FieldSet = fieldSetOf(
  ['f:apiVersion'],
  ['f:kind'],
  ['f:metadata'],
  ...[
    'f:name',
    'f:namespace',
    'f:creationTimestamp',
    'f:selfLink',
    'f:uid',
    'f:clusterName',
    'f:generation',
    'f:managedFields',
    'f:resourceVersion',
  ].map((field) => ['f:metadata', field]),
);

export const withoutServerFields = (fields: FieldSet): FieldSet => differenceOf(fields, SERVER_FIELDS);

export interface FieldConflict {
  readonly owner: ManagerId;
  readonly path: FieldPath;
}

/** Returns fields of other owners that a change touches, by owner and in path order. */
export function conflictsOf(owners: Owners, self: string, change: Comparison): readonly FieldConflict[] {
  const touched = unionOf(change.modified, change.added);
  return [...owners]
    .filter(([id]) => id !== self)
    .sort(([a], [b]) => compareText(a, b))
    .flatMap(([, owner]) => [...pathsOf(intersectionOf(owner.fields, touched))].map((path) => ({ owner, path })));
}

/** Returns the fields of the other owners after a change by `self`: without the fields that it set or removed. */
export function ownersAfterChange(owners: Owners, self: string, change: Comparison): Map<string, Ownership> {
  const lost = unionOf(unionOf(change.modified, change.added), change.removed);
  const left = new Map<string, Ownership>();
  for (const [id, owner] of owners) {
    const fields = id === self ? owner.fields : differenceOf(owner.fields, lost);
    if (!isEmptySet(fields)) left.set(id, fields === owner.fields ? owner : { ...owner, fields });
  }
  return left;
}

/** An update: the writer of a value owns it from now on, together with its previous fields. */
export function ownersAfterUpdate(owners: Owners, id: ManagerId, change: Comparison, time: string | undefined): Owners {
  const written = unionOf(change.modified, change.added);
  const taken = withoutServerFields(written);
  if (isEmptySet(taken)) return ownersAfterChange(owners, '', change);
  const self = identifierOf(id);
  const left = ownersAfterChange(owners, self, change);
  // It keeps the fields that it wrote again. Usually these are all, and the set is unchanged.
  const gone = taken === written ? change.removed : differenceOf(unionOf(written, change.removed), taken);
  const known = owners.get(self);
  const fields = unionOf(differenceOf(known?.fields ?? EMPTY_FIELD_SET, gone), taken);
  const source = known?.source;
  const unchanged = source !== undefined && equalSets(source.fields, fields);
  left.set(self, {
    ...id,
    ...(time === undefined ? {} : { time }),
    fields: unchanged ? source.fields : fields,
    ...(unchanged ? { source } : {}),
  });
  return left;
}

const BUCKET = 'ancient-changes';

/** Limits the number of updaters: merges the oldest ones of a version into one entry. */
export function capUpdateManagers(owners: Owners): Owners {
  if (owners.size <= MAX_UPDATE_MANAGERS) return owners;
  const updaters = [...owners].filter(([, owner]) => owner.operation === 'Update');
  let excess = updaters.length - MAX_UPDATE_MANAGERS;
  if (excess <= 0) return owners;
  updaters.sort(([a, x], [b, y]) => compareText(x.time ?? '', y.time ?? '') || compareText(a, b));
  const ofVersion = new Map<string, string[]>();
  for (const [id, owner] of updaters) {
    if (excess <= 0) break;
    const oldest = ofVersion.get(owner.apiVersion);
    if (oldest === undefined) ofVersion.set(owner.apiVersion, [id]);
    else {
      oldest.push(id);
      excess -= 1;
    }
  }
  const capped = new Map(owners);
  for (const oldest of ofVersion.values()) if (oldest.length > 1) mergeIntoBucket(capped, oldest);
  return capped;
}

/**
 * The bucket has the time of its latest change. When a bucket exists already, the oldest of the other entries stays.
 */
function mergeIntoBucket(owners: Map<string, Ownership>, oldest: readonly string[]): void {
  const last = owners.get(oldest.at(-1) ?? '');
  if (last === undefined) return;
  const { time, apiVersion } = last;
  const bucket: ManagerId = { manager: BUCKET, operation: 'Update', apiVersion, subresource: '' };
  const bucketId = identifierOf(bucket);
  const ids = new Set(owners.has(bucketId) ? [bucketId, ...oldest.slice(1)] : oldest);
  const fields = unionOfAll([...ids].map((id) => owners.get(id)?.fields ?? EMPTY_FIELD_SET));
  for (const id of ids) owners.delete(id);
  owners.set(bucketId, { ...bucket, fields, ...(time === undefined ? {} : { time }) });
}
