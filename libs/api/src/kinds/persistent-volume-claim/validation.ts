import {
  compareQuantities,
  type FieldError,
  forbidden,
  invalid,
  notSupported,
  parseQuantity,
  required,
  semanticEqual,
} from '@holdfast/machinery';
import type { PersistentVolumeClaim, PersistentVolumeClaimSpec } from '../../generated/types.ts';
import { STORAGE_CLASS_ANNOTATION } from '../../semantics/well-known.ts';
import { validatePersistentVolumeClaimSpec } from '../../validation/claims.ts';
import { dnsSubdomainErrors, qualifiedNameErrors } from '../../validation/formats.ts';
import { goDiff } from '../../validation/go/diff.ts';
import { IMMUTABLE_TEXT } from '../../validation/numbers.ts';
import { validateBasicAmount } from '../../validation/quantities.ts';
import { isNativeResource } from '../../validation/resource-names.ts';
import { checkedInSteps, checkedUpdate } from '../checked.ts';

const META = { namespaced: true, name: dnsSubdomainErrors } as const;

/** An update is checked as a new claim before and after its metadata. */
export const claimChecks = checkedInSteps<PersistentVolumeClaim>(META, {
  whole: (out, claim) => validatePersistentVolumeClaimSpec(out, 'spec', claim.spec),
  change: validateChange,
  onUpdate: ['whole', 'metadata', 'whole', 'change'],
});

/** A bound claim may grow. Everything else in its spec is immutable. */
function validateChange(
  out: FieldError[],
  claim: Readonly<PersistentVolumeClaim>,
  old: Readonly<PersistentVolumeClaim>,
): void {
  const { spec } = claim;
  const allowed: PersistentVolumeClaimSpec = { ...spec };
  const before: PersistentVolumeClaimSpec = { ...old.spec };
  if (!before.volumeName && spec.volumeName !== undefined) before.volumeName = spec.volumeName;
  validateClassAnnotation(out, claim, old, allowed);
  if (claim.status.phase === 'Bound' && spec.resources.requests !== undefined) {
    const storage = old.spec.resources.requests?.['storage'];
    const requests = { ...spec.resources.requests, ...(storage === undefined ? {} : { storage }) };
    allowed.resources = { ...spec.resources, requests };
  }
  if (!semanticEqual(allowed, before)) {
    const text =
      'spec is immutable after creation except resources.requests and volumeAttributesClassName for bound claims';
    out.push(forbidden('spec', `${text}\n${goDiff('core.PersistentVolumeClaimSpec', before, allowed)}`));
  }
  validateSize(out, claim, old);
  if (spec.volumeMode !== old.spec.volumeMode) out.push(invalid('volumeMode', spec.volumeMode, IMMUTABLE_TEXT));
}

/** A claim with the old annotation may switch to the field. A claim without a class may get one. */
function validateClassAnnotation(
  out: FieldError[],
  claim: Readonly<PersistentVolumeClaim>,
  old: Readonly<PersistentVolumeClaim>,
  allowed: PersistentVolumeClaimSpec,
): void {
  const before = old.metadata.annotations?.[STORAGE_CLASS_ANNOTATION];
  const after = claim.metadata.annotations?.[STORAGE_CLASS_ANNOTATION];
  const name = claim.spec.storageClassName;
  const takesField = old.spec.storageClassName === undefined && name !== undefined;
  const isUpgrade = takesField && before !== undefined && name === before && (after === undefined || after === before);
  if (!isUpgrade && (before ?? '') !== (after ?? '')) {
    out.push(invalid(`metadata.annotations.${STORAGE_CLASS_ANNOTATION}`, after ?? '', IMMUTABLE_TEXT));
  }
  if (takesField && (before === undefined || before === name)) delete allowed.storageClassName;
}

function validateSize(
  out: FieldError[],
  claim: Readonly<PersistentVolumeClaim>,
  old: Readonly<PersistentVolumeClaim>,
): void {
  const size = (object: Readonly<PersistentVolumeClaim>) =>
    parseQuantity(object.spec.resources.requests?.['storage'] ?? '0');
  if (compareQuantities(size(claim), size(old)) >= 0) return;
  // A claim may shrink only back from a growth that did not happen.
  const has = parseQuantity(old.status.capacity?.['storage'] ?? '0');
  if (compareQuantities(size(claim), has) > 0) return;
  out.push(forbidden('spec.resources.requests.storage', 'field can not be less than status.capacity'));
}

const RESIZE_STATUSES = [
  'ControllerResizeInProgress',
  'ControllerResizeInfeasible',
  'NodeResizeInProgress',
  'NodeResizeInfeasible',
  'NodeResizePending',
];

export const validateClaimStatusUpdate = checkedUpdate<PersistentVolumeClaim>((out, claim) => {
  if ((claim.spec.accessModes ?? []).length === 0) out.push(required('Spec.accessModes'));
  for (const [name, amount] of Object.entries(claim.status.capacity ?? {})) {
    validateBasicAmount(out, `status.capacity[${name}]`, amount);
  }
  for (const [name, status] of Object.entries(claim.status.allocatedResourceStatuses ?? {})) {
    validateResourceKey(out, 'status.allocatedResourceStatus', name);
    if (!RESIZE_STATUSES.includes(status)) {
      out.push(notSupported('status.allocatedResourceStatus', name, RESIZE_STATUSES));
    }
  }
  for (const [name, amount] of Object.entries(claim.status.allocatedResources ?? {})) {
    const path = 'status.allocatedResources';
    if (validateResourceKey(out, path, name)) validateBasicAmount(out, `${path}[${name}]`, amount);
  }
});

/** `storage`, or a vendor's resource name. */
function validateResourceKey(out: FieldError[], path: string, name: string): boolean {
  const problems = qualifiedNameErrors(name);
  for (const text of problems) out.push(invalid(path, name, text));
  if (problems.length > 0) return false;
  if (name === 'storage' || !isNativeResource(name)) return true;
  out.push(notSupported(path, name, ['storage']));
  return false;
}
