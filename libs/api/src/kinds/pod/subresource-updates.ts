import { type FieldError, forbidden, semanticEqual } from '@holdfast/machinery';
import type { Pod } from '../../generated/types.ts';
import { isMirrorPod } from '../../semantics/pods.ts';
import { goDiff } from '../../validation/go/diff.ts';
import { validateObjectMetaUpdate } from '../../validation/object-meta.ts';
import { validatePodAnnotations, validatePodAnnotationUpdate } from '../../validation/pod/annotations.ts';
import { validatePod } from './validation.ts';

/** Ephemeral containers can only be added. */
export function validateEphemeralContainersUpdate(pod: Readonly<Pod>, old: Readonly<Pod>): readonly FieldError[] {
  const out: FieldError[] = [];
  if (isMirrorPod(old)) return [forbidden('[]', 'static pods do not support ephemeral containers')];
  validateObjectMetaUpdate(out, pod.metadata, old.metadata);
  validatePod(out, pod);
  validatePodAnnotationUpdate(out, 'metadata.annotations', pod.metadata.annotations, old.metadata.annotations);
  validatePodAnnotations(out, 'metadata.annotations', pod.metadata.annotations, pod.spec);
  const path = 'spec.ephemeralContainers';
  const byName = new Map((pod.spec.ephemeralContainers ?? []).map((container) => [container.name, container]));
  for (const container of old.spec.ephemeralContainers ?? []) {
    const after = byName.get(container.name);
    const name = JSON.stringify(container.name);
    if (after === undefined) {
      out.push(forbidden(path, `existing ephemeral containers ${name} may not be removed\n`));
    } else if (!semanticEqual(after, container)) {
      const diff = goDiff('core.EphemeralContainer', container, after);
      out.push(forbidden(path, `existing ephemeral containers ${name} may not be changed\n${diff}`));
    }
  }
  return out;
}
