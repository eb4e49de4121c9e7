import { type FieldError, forbidden } from '@holdfast/machinery';
import type { Container, Pod } from '../../generated/types.ts';
import type { ValidationContext } from '../../resource.ts';
import { dnsSubdomainErrors } from '../../validation/formats.ts';
import { validateObjectMeta } from '../../validation/object-meta.ts';
import { validatePodAnnotations, validateProfilesMatchAnnotations } from '../../validation/pod/annotations.ts';
import { validateImageWhitespace } from '../../validation/pod/containers.ts';
import { validatePodSpec } from '../../validation/pod/pod-spec.ts';
import { validateSelfFencing } from '../../validation/pod/self-fencing.ts';

const META = { namespaced: true, name: dnsSubdomainErrors } as const;

export function validatePodCreate(
  pod: Readonly<Pod>,
  { isSpecValid = false }: Pick<ValidationContext, 'isSpecValid'> = {},
): readonly FieldError[] {
  const out: FieldError[] = [];
  validateAround(out, pod);
  if (!isSpecValid) validateNewSpec(out, pod);
  validateProfilesMatchAnnotations(out, 'spec', pod.metadata, pod.spec);
  return out;
}

function validateNewSpec(out: FieldError[], pod: Readonly<Pod>): void {
  const { spec } = pod;
  validateSpec(out, pod);
  if ((spec.ephemeralContainers ?? []).length > 0) {
    out.push(forbidden('spec.ephemeralContainers', 'cannot be set on create'));
  }
  if (spec.nodeName && (spec.schedulingGates ?? []).length > 0) {
    out.push(forbidden('spec.nodeName', 'cannot be set until all schedulingGates have been cleared'));
  }
}

/** Checks what must hold for a pod at any time. */
export function validatePod(out: FieldError[], pod: Readonly<Pod>): void {
  validateAround(out, pod);
  validateSpec(out, pod);
}

function validateAround(out: FieldError[], pod: Readonly<Pod>): void {
  const { metadata, spec } = pod;
  validateObjectMeta(out, metadata, META);
  validatePodAnnotations(out, 'metadata.annotations', metadata.annotations, spec);
  validateSelfFencing(out, 'metadata.annotations', pod);
}

function validateSpec(out: FieldError[], pod: Readonly<Pod>): void {
  const { metadata, spec } = pod;
  validatePodSpec(out, 'spec', spec, { isPod: true, podName: metadata.name });
  validateTokensHaveAccount(out, pod);
  validateImages(out, 'spec.containers', spec.containers);
  validateImages(out, 'spec.initContainers', spec.initContainers ?? []);
}

function validateTokensHaveAccount(out: FieldError[], { spec }: Readonly<Pod>): void {
  if (spec.serviceAccountName) return;
  for (const [i, volume] of (spec.volumes ?? []).entries()) {
    for (const [j, source] of (volume.projected?.sources ?? []).entries()) {
      if (source.serviceAccountToken === undefined) continue;
      const path = `spec.volumes[${i}].projected.sources[${j}].serviceAccountToken`;
      out.push(forbidden(path, 'must not be specified when serviceAccountName is not set'));
    }
  }
}

function validateImages(out: FieldError[], path: string, containers: readonly Container[]): void {
  for (const [i, container] of containers.entries()) validateImageWhitespace(out, `${path}[${i}]`, container);
}
