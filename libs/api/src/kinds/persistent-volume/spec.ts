import { type FieldError, forbidden, notSupported, required } from '@holdfast/machinery';
import type { PersistentVolumeSpec } from '../../generated/types.ts';
import { validateDnsSubdomain, validateWord } from '../../validation/check.ts';
import { VOLUME_MODES, validateAccessModes } from '../../validation/claims.ts';
import { validateNodeSelector } from '../../validation/pod/node-selector.ts';
import { goResourceList, validateBasicAmount, validatePositiveQuantity } from '../../validation/quantities.ts';
import { type SpecPlace, validateSource } from './sources.ts';

/** A PersistentVolume, or an inline volume without claim, size or node affinity. */
interface Place extends SpecPlace {
  readonly isInline: boolean;
}

const INLINE = 'in the context of inline volumes';
const NOT_INLINE = `may not be specified ${INLINE}`;

export function validateVolumeSpec(out: FieldError[], spec: Readonly<PersistentVolumeSpec>, place: Place): void {
  const { path, name, isInline } = place;
  const modes = spec.accessModes ?? [];
  if (isInline) validateInline(out, path, spec);
  if (modes.length === 0) out.push(required(`${path}.accessModes`));
  validateAccessModes(out, `${path}.accessModes`, modes);
  if (!isInline) validateCapacity(out, `${path}.capacity`, spec.capacity);
  validateReclaimPolicy(out, `${path}.persistentVolumeReclaimPolicy`, spec, isInline);
  const isOnNodes = validateAffinity(out, `${path}.nodeAffinity`, spec, isInline);
  validateSource(out, { path, spec, name, isOnNodes });
  if (/^\/+\.?\/*$/.test(spec.hostPath?.path ?? '') && spec.persistentVolumeReclaimPolicy === 'Recycle') {
    out.push(forbidden(`${path}.persistentVolumeReclaimPolicy`, "may not be 'recycle' for a hostPath mount of '/'"));
  }
  if (spec.storageClassName) {
    if (isInline) out.push(forbidden(`${path}.storageClassName`, NOT_INLINE));
    else validateDnsSubdomain(out, `${path}.storageClassName`, spec.storageClassName);
  }
  if (!isInline) validateWord(out, `${path}.volumeMode`, spec.volumeMode, VOLUME_MODES);
  else if (spec.volumeMode !== undefined && spec.volumeMode !== 'Filesystem') {
    out.push(forbidden(`${path}.volumeMode`, `may not specify volumeMode other than Filesystem ${INLINE}`));
  }
}

function validateInline(out: FieldError[], path: string, spec: Readonly<PersistentVolumeSpec>): void {
  if (spec.claimRef !== undefined) out.push(forbidden(`${path}.claimRef`, NOT_INLINE));
  if (Object.keys(spec.capacity ?? {}).length > 0) out.push(forbidden(`${path}.capacity`, NOT_INLINE));
  if (spec.csi === undefined) out.push(required(`${path}.csi`, `has to be specified ${INLINE}`));
}

function validateCapacity(
  out: FieldError[],
  path: string,
  capacity: Readonly<Record<string, string>> | undefined,
): void {
  const names = Object.keys(capacity ?? {});
  if (names.length === 0) out.push(required(path));
  if (!names.includes('storage') || names.length > 1) {
    out.push(notSupported(path, goResourceList(capacity), ['storage']));
  }
  for (const [name, amount] of Object.entries(capacity ?? {})) {
    validateBasicAmount(out, `${path}[${name}]`, amount);
    validatePositiveQuantity(out, `${path}[${name}]`, amount);
  }
}

function validateReclaimPolicy(
  out: FieldError[],
  path: string,
  { persistentVolumeReclaimPolicy: policy }: Readonly<PersistentVolumeSpec>,
  isInline: boolean,
): void {
  if (!isInline) validateWord(out, path, policy, ['Delete', 'Recycle', 'Retain']);
  else if (policy && policy !== 'Retain') out.push(forbidden(path, `may only be Retain ${INLINE}`));
}

/** Returns whether the volume has node affinity. */
function validateAffinity(
  out: FieldError[],
  path: string,
  { nodeAffinity }: Readonly<PersistentVolumeSpec>,
  isInline: boolean,
): boolean {
  if (nodeAffinity === undefined) return false;
  if (isInline) {
    out.push(forbidden(path, NOT_INLINE));
    return false;
  }
  if (nodeAffinity.required !== undefined) validateNodeSelector(out, `${path}.required`, nodeAffinity.required);
  else out.push(required(`${path}.required`, 'must specify required node constraints'));
  return true;
}
