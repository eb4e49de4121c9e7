import { type FieldError, forbidden } from '@holdfast/machinery';
import type { PodTemplateSpec } from '../../generated/types.ts';
import { validateLabels } from '../labels.ts';
import { validateAnnotations } from '../object-meta.ts';
import { validatePodAnnotations, validateProfilesMatchAnnotations } from './annotations.ts';
import { validatePodSpec } from './pod-spec.ts';

export function validatePodTemplate(out: FieldError[], path: string, template: Readonly<PodTemplateSpec>): void {
  const { metadata, spec } = template;
  validateTemplateMetadata(out, path, template);
  validatePodSpec(out, `${path}.spec`, spec);
  validateProfilesMatchAnnotations(out, `${path}.spec`, metadata, spec);
  if ((spec.ephemeralContainers ?? []).length > 0) {
    out.push(forbidden(`${path}.spec.ephemeralContainers`, 'ephemeral containers not allowed in pod template'));
  }
}

export function validateTemplateMetadata(
  out: FieldError[],
  path: string,
  { metadata, spec }: Readonly<PodTemplateSpec>,
): void {
  validateLabels(out, `${path}.labels`, metadata.labels);
  validateAnnotations(out, `${path}.annotations`, metadata.annotations);
  validatePodAnnotations(out, `${path}.annotations`, metadata.annotations, spec);
}
