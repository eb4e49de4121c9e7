import type { ControllerRevision, PodTemplateSpec } from '@holdfast/api';
import { isSame } from './hash.ts';
import { compareText } from './meta.ts';

/**
 * Returns the data of a ControllerRevision: a patch that replaces the template, byte for byte as Kubernetes'
 * controllers write it, because clients compare bytes. Go marshals a map: keys are sorted, and the zero time of the
 * template is null.
 */
export function revisionData(template: PodTemplateSpec): ControllerRevision['data'] {
  const patch = { ...withZeroTime(template), $patch: 'replace' };
  return sorted({ spec: { template: patch } }) as ControllerRevision['data'];
}

/** True when both templates make the same pods: an absent time equals null. */
export const isSameTemplate = (a: PodTemplateSpec | undefined, b: PodTemplateSpec): boolean =>
  a !== undefined && isSame(withZeroTime(a), withZeroTime(b));

function withZeroTime(template: PodTemplateSpec): Record<string, unknown> {
  const { creationTimestamp, ...metadata } = template.metadata ?? {};
  return { ...template, metadata: { ...metadata, creationTimestamp: creationTimestamp ?? null } };
}

/** Keys that are numbers come first, whatever is done: no label or annotation of templates in use is one. */
function sorted(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(sorted);
  if (typeof value !== 'object' || value === null) return value;
  const members = Object.entries(value).filter(([, member]) => member !== undefined);
  return Object.fromEntries(
    members.sort(([a], [b]) => compareText(a, b)).map(([key, member]) => [key, sorted(member)]),
  );
}
