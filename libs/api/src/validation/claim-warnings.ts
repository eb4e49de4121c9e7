import type { PersistentVolumeClaim, PersistentVolumeClaimSpec } from '../generated/types.ts';
import { STORAGE_CLASS_ANNOTATION } from '../semantics/well-known.ts';
import { warnOfFraction } from './fractions.ts';

export function claimSpecWarnings(out: string[], path: string, spec: Readonly<PersistentVolumeClaimSpec>): void {
  warnOfFraction(out, `${path}.resources.requests[storage]`, spec.resources.requests?.['storage']);
  warnOfFraction(out, `${path}.resources.limits[storage]`, spec.resources.limits?.['storage']);
}

export function claimWarnings({ metadata, spec }: Readonly<PersistentVolumeClaim>): readonly string[] {
  const out = storageClassWarnings(metadata.annotations);
  claimSpecWarnings(out, 'spec', spec);
  return out;
}

/** Classes of claims and volumes were an annotation in early versions. */
export const storageClassWarnings = (annotations: Readonly<Record<string, string>> | undefined): string[] =>
  annotations?.[STORAGE_CLASS_ANNOTATION] === undefined
    ? []
    : [
        `metadata.annotations[${STORAGE_CLASS_ANNOTATION}]: deprecated since v1.8; use "storageClassName" attribute instead`,
      ];
