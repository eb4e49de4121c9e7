import { deepEqual } from './deep.ts';
import {
  differenceOf,
  EMPTY_FIELD_SET,
  equalSets,
  type FieldSet,
  hasPath,
  intersectionOf,
  isEmptySet,
  recursiveDifferenceOf,
  unionOf,
  unionOfAll,
} from './fieldpath/field-set.ts';
import { isJsonObject, type Json, type JsonObject, type MutableJsonObject, ownValue, setOwn } from './json.ts';
import { applyConflict } from './managed-fields/conflict-status.ts';
import {
  decodeManagedFields,
  encodeManagedFields,
  identifierOf,
  ManagedFieldsError,
  type ManagerId,
  type Owners,
  type Ownership,
} from './managed-fields/entries.ts';
import { allowedByLastApplied, KUBECTL_MANAGER, syncLastApplied } from './managed-fields/last-applied.ts';
import {
  capUpdateManagers,
  conflictsOf,
  ownersAfterChange,
  ownersAfterUpdate,
  withoutServerFields,
} from './managed-fields/owners.ts';
import {
  managedFieldsOf,
  untracked,
  updaterId,
  type WriterIdentity,
  withManagedFields,
} from './managed-fields/track.ts';
import type { StructSchema } from './schema.ts';
import { badRequest, unclassifiedError } from './status.ts';
import { runSteps, type Steps } from './steps.ts';
import { type Comparison, compareTyped, excludeFields } from './typed/compare.ts';
import { mergeTyped } from './typed/merge.ts';
import { removeFields, withDeclaredFields } from './typed/remove.ts';
import { toFieldSet } from './typed/to-field-set.ts';
import { unsetObject } from './typed/unset.ts';
import { formatTypedErrors, validateTyped } from './typed/validate.ts';

export interface ApplyRequest extends WriterIdentity {
  /** Absent when the object is created. */
  readonly live: JsonObject | undefined;
  /** The configuration that the client applies, as parsed: without defaults, with unknown fields. */
  readonly config: JsonObject;
  readonly schema: StructSchema;
  readonly force: boolean;
  /** Fields that this endpoint resets, so that nobody can own them through it. */
  readonly resetFields?: FieldSet;
}

export interface Applied {
  /** The object with its new managedFields. Decode and default it before it is stored. */
  readonly object: JsonObject;
  /** False when nothing but ownership can differ from the live object. */
  readonly changed: boolean;
}

/** Throws StatusError: 400, 409 with a cause per conflict, or Kubernetes' error for an invalid configuration. */
export const applyServerSide = (request: ApplyRequest): Applied => runSteps(applyInSteps(request));

/** The same in steps; other work can run between them. */
export function* applyInSteps(request: ApplyRequest): Steps<Applied> {
  checkConfig(request);
  yield;
  const live = request.live === undefined ? unsetObject(request.schema) : untracked(request.live);
  const before = ownersBeforeApply(request, live);
  yield;
  const outcome = yield* new Application(request, live, before).run();
  return withLastApplied(request, outcome);
}

/**
 * After a server-side apply by kubectl, its client-side annotation follows, so that both have the same last
 * configuration.
 */
function withLastApplied(request: ApplyRequest, applied: Applied): Applied {
  if (request.manager !== KUBECTL_MANAGER) return applied;
  const object = syncLastApplied(applied.object, request.config);
  return object === applied.object ? applied : { object, changed: true };
}

function checkConfig({ config, schema, apiVersion }: ApplyRequest): void {
  const version = ownValue(config, 'apiVersion');
  if (version !== apiVersion) {
    throw badRequest(
      `Incorrect version specified in apply patch. Specified patch version: ${textOf(version)}, expected: ${apiVersion}`,
    );
  }
  const managed = managedFieldsOf(config);
  if (managed !== undefined && managed !== null) throw badRequest('metadata.managedFields must be nil');
  const errors = validateTyped(config, schema);
  if (errors.length > 0) {
    throw unclassifiedError(`failed to create typed patch object (${nameOf(config)}): ${formatTypedErrors(errors)}`);
  }
}

const textOf = (value: Json | undefined): string => (typeof value === 'string' ? value : '');

/** `namespace/name; group/version, Kind=Kind` */
function nameOf(object: JsonObject): string {
  const metadata = ownValue(object, 'metadata');
  const text = (key: string): string => (isJsonObject(metadata) ? textOf(ownValue(metadata, key)) : '');
  const apiVersion = textOf(ownValue(object, 'apiVersion'));
  const groupVersion = apiVersion.includes('/') ? apiVersion : `/${apiVersion}`;
  return `${text('namespace')}/${text('name')}; ${groupVersion}, Kind=${textOf(ownValue(object, 'kind'))}`;
}

const BEFORE_FIRST_APPLY = 'before-first-apply';

/** The manager "before-first-apply" owns the fields of an untracked object. */
function ownersBeforeApply(request: ApplyRequest, live: JsonObject): Owners {
  const owners = readOwners(request.live);
  if (owners.size > 0 || request.live === undefined) return owners;
  const everything = excludeFields(
    compareTyped(unsetObject(request.schema), live, request.schema),
    request.resetFields,
  );
  const writer = updaterId({ ...request, manager: BEFORE_FIRST_APPLY });
  return capUpdateManagers(ownersAfterUpdate(owners, writer, everything, request.time));
}

function readOwners(live: JsonObject | undefined): Owners {
  try {
    return decodeManagedFields(live === undefined ? undefined : managedFieldsOf(live));
  } catch (error) {
    if (!(error instanceof ManagedFieldsError)) throw error;
    throw unclassifiedError(`failed to decode managed fields: ${error.message}`, error);
  }
}

/** One apply: the live object, the owners before it, and the result. */
class Application {
  readonly #request: ApplyRequest;
  readonly #live: JsonObject;
  readonly #before: Owners;
  readonly #self: string;

  constructor(request: ApplyRequest, live: JsonObject, before: Owners) {
    this.#request = request;
    this.#live = live;
    this.#before = before;
    this.#self = identifierOf(applierId(request));
  }

  *run(): Steps<Applied> {
    const { config, schema, resetFields = EMPTY_FIELD_SET } = this.#request;
    const merged = mergeTyped(this.#live, config, schema);
    yield;
    const applied = recursiveDifferenceOf(toFieldSet(config, schema), resetFields);
    yield;
    const object = yield* this.#prune(merged, applied);
    yield;
    const change = excludeFields(compareTyped(this.#live, object, schema), resetFields);
    yield;
    this.#refuseConflicts(change);
    yield;
    const changed = !deepEqual(this.#live, object);
    const owners = this.#ownersAfter(applied, change, changed);
    yield;
    return { object: withManagedFields(withoutNewNulls(object, this.#live), encodeManagedFields(owners)), changed };
  }

  #refuseConflicts(change: Comparison): void {
    if (this.#request.force) return;
    const conflicts = conflictsOf(this.#before, this.#self, change);
    if (conflicts.length === 0) return;
    const allowed = this.#request.manager === KUBECTL_MANAGER ? this.#allowed() : EMPTY_FIELD_SET;
    const refused = conflicts.filter(({ path }) => !hasPath(allowed, path));
    if (refused.length > 0) throw applyConflict(refused);
  }

  /** kubectl owns what it applied on the client side, whatever managedFields says. */
  #allowed(): FieldSet {
    return allowedByLastApplied(this.#live, this.#request.schema);
  }

  #ownersAfter(applied: FieldSet, change: Comparison, changed: boolean): Owners {
    const owners = ownersAfterChange(this.#before, this.#self, change);
    const fields = withoutServerFields(applied);
    owners.delete(this.#self);
    if (isEmptySet(fields)) return owners;
    const previous = this.#before.get(this.#self);
    const self: Ownership = { ...applierId(this.#request), fields };
    owners.set(this.#self, self);
    const time = changed || !this.#ownsTheSame(owners) ? this.#request.time : previous?.time;
    return owners.set(this.#self, time === undefined ? self : { ...self, time });
  }

  #ownsTheSame(owners: Owners): boolean {
    if (owners.size !== this.#before.size) return false;
    for (const [id, owner] of owners) {
      const before = this.#before.get(id);
      if (before === undefined || before.apiVersion !== owner.apiVersion || !equalSets(before.fields, owner.fields)) {
        return false;
      }
    }
    return true;
  }

  /** Removes fields that this manager applied last time but not now, and that nobody else owns. */
  *#prune(merged: JsonObject, applied: FieldSet): Steps<JsonObject> {
    const last = this.#before.get(this.#self)?.fields;
    if (last === undefined || isEmptySet(last)) return merged;
    const { schema } = this.#request;
    const complete = (fields: FieldSet): FieldSet => withDeclaredFields(fields, schema);
    const present = complete(toFieldSet(merged, schema));
    yield;
    const withoutLast = removeFields(merged, complete(last), schema);
    yield;
    const keptAnyway = complete(toFieldSet(withoutLast, schema));
    yield;
    const owned = complete(this.#ownedByAnyone(applied));
    yield;
    const pruned = removeFields(merged, differenceOf(present, unionOf(keptAnyway, owned)), schema);
    yield;
    const gone = differenceOf(present, complete(toFieldSet(pruned, schema)));
    return removeFields(merged, intersectionOf(gone, complete(last)), schema);
  }

  #ownedByAnyone(applied: FieldSet): FieldSet {
    const others = [...this.#before].filter(([id]) => id !== this.#self);
    return unionOfAll([applied, ...others.map(([, owner]) => owner.fields)]);
  }
}

const applierId = ({ manager, apiVersion, subresource = '' }: WriterIdentity): ManagerId => ({
  manager,
  operation: 'Apply',
  apiVersion,
  subresource,
});

/** A container that lost its last field is null up to here. In an object that means absent. */
function withoutNewNulls(object: JsonObject, live: JsonObject | undefined): JsonObject {
  const result: MutableJsonObject = {};
  for (const [key, value] of Object.entries(object)) {
    const before = live === undefined ? undefined : ownValue(live, key);
    if (value === null && before !== undefined && before !== null) continue;
    const nested =
      value === before || !isJsonObject(value)
        ? value
        : withoutNewNulls(value, isJsonObject(before) ? before : undefined);
    setOwn(result, key, nested);
  }
  return result;
}
