import { type FieldError, forbidden, invalid, required, tooLong } from '@holdfast/machinery';
import type { ManagedFieldsEntry, ObjectMeta, OwnerReference } from '../generated/types.ts';
import { byteLength, type Check, dnsLabelErrors, qualifiedNameErrors } from './formats.ts';
import { goValue } from './go/print.ts';
import { goStrings } from './go-text.ts';
import { validateLabels } from './labels.ts';
import { TOTAL_ANNOTATION_BYTES_MAX } from './limits.ts';
import { IMMUTABLE_TEXT, validateNonNegative } from './numbers.ts';

export interface MetaRules {
  readonly namespaced: boolean;
  /** The format of names of this kind. */
  readonly name: Check;
  readonly path?: string;
  /** Most kinds require a finalizer without a domain to be one that Kubernetes defines. */
  readonly standardFinalizers?: boolean;
}

/**
 * A generated name ends in random characters, so its prefix may end in a character that is invalid at the end of a
 * name.
 */
export const maskedPrefix = (prefix: string): string =>
  prefix.length > 1 && prefix.endsWith('-') ? `${prefix.slice(0, -2)}a` : prefix;

export function validateObjectMeta(out: FieldError[], meta: Readonly<ObjectMeta>, rules: MetaRules): void {
  const path = rules.path ?? 'metadata';
  validateNames(out, path, meta, rules);
  validateNonNegative(out, `${path}.generation`, meta.generation);
  validateLabels(out, `${path}.labels`, meta.labels);
  validateAnnotations(out, `${path}.annotations`, meta.annotations);
  validateOwnerReferences(out, `${path}.ownerReferences`, meta.ownerReferences);
  validateFinalizers(out, `${path}.finalizers`, meta.finalizers, rules.standardFinalizers ?? true);
  validateManagedFields(out, `${path}.managedFields`, meta.managedFields);
}

function validateNames(out: FieldError[], path: string, meta: Readonly<ObjectMeta>, rules: MetaRules): void {
  const prefix = meta.generateName ?? '';
  if (prefix !== '') {
    for (const text of rules.name(maskedPrefix(prefix))) out.push(invalid(`${path}.generateName`, prefix, text));
  }
  const name = meta.name ?? '';
  if (name === '') out.push(required(`${path}.name`, 'name or generateName is required'));
  else for (const text of rules.name(name)) out.push(invalid(`${path}.name`, name, text));
  const namespace = meta.namespace ?? '';
  if (!rules.namespaced) {
    if (namespace !== '') out.push(forbidden(`${path}.namespace`, 'not allowed on this type'));
  } else if (namespace === '') out.push(required(`${path}.namespace`));
  else for (const text of dnsLabelErrors(namespace)) out.push(invalid(`${path}.namespace`, namespace, text));
}

export function validateAnnotations(
  out: FieldError[],
  path: string,
  annotations: Readonly<Record<string, string>> | undefined,
): void {
  if (annotations === undefined) return;
  let total = 0;
  for (const [key, value] of Object.entries(annotations)) {
    for (const text of qualifiedNameErrors(key.toLowerCase())) out.push(invalid(path, key, text));
    total += byteLength(key) + byteLength(value);
  }
  if (total > TOTAL_ANNOTATION_BYTES_MAX) out.push(tooLong(path, TOTAL_ANNOTATION_BYTES_MAX));
}

function validateOwnerReferences(
  out: FieldError[],
  path: string,
  references: readonly OwnerReference[] | undefined,
): void {
  if (references === undefined) return;
  let controller: string | undefined;
  for (const reference of references) {
    validateOwnerReference(out, path, reference);
    if (reference.controller !== true) continue;
    const name = `${reference.kind}/${reference.name}`;
    if (controller === undefined) controller = name;
    else {
      const detail = `Only one reference can have Controller set to true. Found "true" in references for ${controller} and ${name}`;
      out.push(invalid(path, goValue('[]v1.OwnerReference', references), detail));
    }
  }
}

function validateOwnerReference(out: FieldError[], path: string, reference: OwnerReference): void {
  const apiVersion = reference.apiVersion ?? '';
  const [first = '', second, ...more] = apiVersion.split('/');
  const version = more.length > 0 ? '' : (second ?? first);
  if (version === '') out.push(invalid(`${path}.apiVersion`, apiVersion, 'version must not be empty'));
  if (!reference.kind) out.push(invalid(`${path}.kind`, reference.kind ?? '', 'kind must not be empty'));
  if (!reference.name) out.push(invalid(`${path}.name`, reference.name ?? '', 'name must not be empty'));
  if (!reference.uid) out.push(invalid(`${path}.uid`, reference.uid ?? '', 'uid must not be empty'));
  if (apiVersion === 'v1' && reference.kind === 'Event') {
    out.push(
      invalid(path, goValue('v1.OwnerReference', reference), '/v1, Kind=Event is disallowed from being an owner'),
    );
  }
}

const ORPHAN = 'orphan';
const FOREGROUND = 'foregroundDeletion';
const STANDARD_FINALIZERS: ReadonlySet<string> = new Set(['kubernetes', ORPHAN, FOREGROUND]);

export function validateFinalizers(
  out: FieldError[],
  path: string,
  finalizers: readonly string[] | undefined,
  standardOnly: boolean,
): void {
  if (finalizers === undefined) return;
  for (const name of finalizers) for (const text of qualifiedNameErrors(name)) out.push(invalid(path, name, text));
  if (finalizers.includes(ORPHAN) && finalizers.includes(FOREGROUND)) {
    out.push(invalid(path, goStrings(finalizers), `finalizer ${ORPHAN} and ${FOREGROUND} cannot be both set`));
  }
  if (!standardOnly) return;
  for (const [i, name] of finalizers.entries()) validateStandardFinalizer(out, `${path}[${i}]`, name);
}

/** A finalizer of one word must be one that Kubernetes defines. */
export function validateStandardFinalizer(out: FieldError[], path: string, name: string): void {
  if (name.includes('/') || STANDARD_FINALIZERS.has(name)) return;
  out.push(invalid(path, name, 'name is neither a standard finalizer name nor is it fully qualified'));
}

const OPERATIONS: ReadonlySet<string> = new Set(['Apply', 'Update']);

function validateManagedFields(
  out: FieldError[],
  path: string,
  entries: readonly ManagedFieldsEntry[] | undefined,
): void {
  if (entries === undefined) return;
  for (let i = 0; i < entries.length; i += 1) {
    const { operation = '', fieldsType = '' } = entries[i] ?? {};
    if (!OPERATIONS.has(operation)) {
      out.push(invalid(`${path}[${i}].operation`, operation, 'must be `Apply` or `Update`'));
    }
    if (fieldsType !== '' && fieldsType !== 'FieldsV1') {
      out.push(invalid(`${path}[${i}].fieldsType`, fieldsType, 'must be `FieldsV1`'));
    }
  }
}

/** Restores fields that only the server sets. The pipeline calls this on an updated object before the strategy. */
export function keepServerMetadata(meta: ObjectMeta, old: Readonly<ObjectMeta>): void {
  meta.uid ??= old.uid ?? '';
  assignOrRemove(meta, 'creationTimestamp', old.creationTimestamp ?? meta.creationTimestamp);
  if (old.deletionTimestamp !== undefined) meta.deletionTimestamp = old.deletionTimestamp;
  if (old.deletionGracePeriodSeconds !== undefined) meta.deletionGracePeriodSeconds ??= old.deletionGracePeriodSeconds;
}

function assignOrRemove<K extends keyof ObjectMeta>(meta: ObjectMeta, key: K, value: ObjectMeta[K] | undefined): void {
  if (value === undefined) delete meta[key];
  else meta[key] = value;
}

export interface MetaUpdateRules {
  readonly path?: string;
  readonly standardFinalizers?: boolean;
}

export function validateObjectMetaUpdate(
  out: FieldError[],
  meta: Readonly<ObjectMeta>,
  old: Readonly<ObjectMeta>,
  { path = 'metadata', standardFinalizers = true }: MetaUpdateRules = {},
): void {
  if (old.deletionTimestamp !== undefined) validateNoNewFinalizers(out, `${path}.finalizers`, meta, old);
  if ((meta.resourceVersion ?? '') === '') {
    out.push(invalid(`${path}.resourceVersion`, '', 'must be specified for an update'));
  }
  if ((meta.generation ?? 0) < (old.generation ?? 0)) {
    out.push(invalid(`${path}.generation`, meta.generation ?? 0, 'must not be decremented'));
  }
  for (const key of IMMUTABLE_KEYS) {
    if ((meta[key] ?? '') !== (old[key] ?? '')) out.push(invalid(`${path}.${key}`, meta[key], IMMUTABLE_TEXT));
  }
  validateLabels(out, `${path}.labels`, meta.labels);
  validateAnnotations(out, `${path}.annotations`, meta.annotations);
  validateOwnerReferences(out, `${path}.ownerReferences`, meta.ownerReferences);
  validateManagedFields(out, `${path}.managedFields`, meta.managedFields);
  if (!standardFinalizers || meta.finalizers === undefined) return;
  for (const [i, name] of meta.finalizers.entries()) {
    validateStandardFinalizer(out, `${path}.finalizers[${i}]`, name);
  }
}

const IMMUTABLE_KEYS = [
  'name',
  'namespace',
  'uid',
  'creationTimestamp',
  'deletionTimestamp',
  'deletionGracePeriodSeconds',
] as const;

function validateNoNewFinalizers(
  out: FieldError[],
  path: string,
  meta: Readonly<ObjectMeta>,
  old: Readonly<ObjectMeta>,
): void {
  const known = new Set(old.finalizers);
  const added = [...new Set(meta.finalizers)].filter((name) => !known.has(name)).sort();
  if (added.length === 0) return;
  const found = goStrings(added).text;
  out.push(
    forbidden(path, `no new finalizers can be added if the object is being deleted, found new finalizers ${found}`),
  );
}
