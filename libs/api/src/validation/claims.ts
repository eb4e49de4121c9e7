import { type FieldError, forbidden, invalid, required, Verbatim } from '@holdfast/machinery';
import type {
  PersistentVolumeClaimSpec,
  PersistentVolumeClaimTemplate,
  TypedLocalObjectReference,
  TypedObjectReference,
} from '../generated/types.ts';
import { validateDnsLabel, validateDnsSubdomain, validateRequiredText, validateWord } from './check.ts';
import { validateLabelSelector, validateLabels } from './labels.ts';
import { validateAnnotations } from './object-meta.ts';
import { validatePositiveQuantity } from './quantities.ts';

export function validatePersistentVolumeClaimTemplate(
  out: FieldError[],
  path: string,
  template: Readonly<PersistentVolumeClaimTemplate>,
): void {
  const { labels, annotations, ...rest } = template.metadata ?? {};
  validateAnnotations(out, `${path}.metadata.annotations`, annotations);
  validateLabels(out, `${path}.metadata.labels`, labels);
  for (const key of NOT_IN_TEMPLATES) {
    const value: unknown = rest[key];
    if (value === undefined || value === null || value === '' || value === 0) continue;
    out.push(forbidden(`${path}.metadata.${key === 'uid' ? 'uID' : key}`, 'cannot be set'));
  }
  validatePersistentVolumeClaimSpec(out, `${path}.spec`, template.spec);
}

/** In the order of the reports; one name begins like its Go field. */
const NOT_IN_TEMPLATES = [
  'name',
  'generateName',
  'namespace',
  'selfLink',
  'uid',
  'resourceVersion',
  'generation',
  'creationTimestamp',
  'deletionTimestamp',
  'deletionGracePeriodSeconds',
  'ownerReferences',
  'finalizers',
  'managedFields',
] as const;

const ACCESS_MODES = ['ReadOnlyMany', 'ReadWriteMany', 'ReadWriteOnce', 'ReadWriteOncePod'];

export function validateAccessModes(out: FieldError[], path: string, modes: readonly string[]): void {
  for (const mode of modes) validateWord(out, path, mode, ACCESS_MODES);
  if (modes.includes('ReadWriteOncePod') && modes.some((m) => m !== 'ReadWriteOncePod' && ACCESS_MODES.includes(m))) {
    out.push(forbidden(path, 'may not use ReadWriteOncePod with other access modes'));
  }
}

export const VOLUME_MODES = ['Block', 'Filesystem'];

export function validatePersistentVolumeClaimSpec(
  out: FieldError[],
  path: string,
  spec: Readonly<PersistentVolumeClaimSpec>,
): void {
  const modes = spec.accessModes ?? [];
  if (modes.length === 0) out.push(required(`${path}.accessModes`, 'at least 1 access mode is required'));
  validateLabelSelector(out, `${path}.selector`, spec.selector);
  validateAccessModes(out, `${path}.accessModes`, modes);
  const storage = spec.resources.requests?.['storage'];
  if (storage === undefined) out.push(required(`${path}.resources[storage]`));
  else validatePositiveQuantity(out, `${path}.resources[storage]`, storage);
  if (spec.storageClassName) validateDnsSubdomain(out, `${path}.storageClassName`, spec.storageClassName);
  validateWord(out, `${path}.volumeMode`, spec.volumeMode, VOLUME_MODES);
  validateDataSources(out, path, spec);
}

function validateDataSources(out: FieldError[], path: string, spec: Readonly<PersistentVolumeClaimSpec>): void {
  const { dataSource, dataSourceRef } = spec;
  if (dataSource !== undefined) validateDataSource(out, `${path}.dataSource`, dataSource);
  if (dataSourceRef !== undefined) {
    validateDataSource(out, `${path}.dataSourceRef`, dataSourceRef);
    if (dataSourceRef.namespace) validateDnsLabel(out, `${path}.dataSourceRef.namespace`, dataSourceRef.namespace);
  }
  if (dataSource === undefined || dataSourceRef === undefined) return;
  const shown = new Verbatim('field.Path{name:"dataSource", index:"", parent:(*field.Path)(0xc000000000)}');
  if (dataSourceRef.namespace) {
    out.push(invalid(path, shown, 'may not be specified when dataSourceRef.namespace is specified'));
  } else if (!isSameSource(dataSource, dataSourceRef)) out.push(invalid(path, shown, 'must match dataSourceRef'));
}

const isSameSource = (a: TypedLocalObjectReference, b: TypedObjectReference): boolean =>
  a.apiGroup === b.apiGroup && a.kind === b.kind && a.name === b.name;

function validateDataSource(out: FieldError[], path: string, source: Readonly<TypedLocalObjectReference>): void {
  validateRequiredText(out, `${path}.name`, source.name);
  validateRequiredText(out, `${path}.kind`, source.kind);
  const group = source.apiGroup ?? '';
  if (group !== '') validateDnsSubdomain(out, `${path}.apiGroup`, group);
  else if (source.kind !== 'PersistentVolumeClaim') {
    out.push(invalid(path, source.kind, "must be 'PersistentVolumeClaim' when referencing the default apiGroup"));
  }
}
