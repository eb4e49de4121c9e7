import type { CustomResourceDefinition } from '../generated/types.ts';

export const APPROVAL_ANNOTATION = 'api-approved.kubernetes.io';

const SEE = 'see https://github.com/kubernetes/enhancements/pull/1111';

export interface Approval {
  readonly state: 'approved' | 'bypassed' | 'missing' | 'invalid';
  readonly message: string;
}

/**
 * API groups of the Kubernetes community require an annotation that their API was reviewed. Returns `undefined` for
 * other groups.
 */
export function approvalOf({ spec, metadata }: Readonly<CustomResourceDefinition>): Approval | undefined {
  if (!/(?:^|\.)(?:k8s|kubernetes)\.io$/.test(spec.group)) return undefined;
  const annotation = metadata.annotations?.[APPROVAL_ANNOTATION] ?? '';
  const named = JSON.stringify(APPROVAL_ANNOTATION);
  if (annotation === '') {
    return { state: 'missing', message: `protected groups must have approval annotation ${named}, ${SEE}` };
  }
  if (annotation.startsWith('unapproved')) {
    return { state: 'bypassed', message: `not approved: ${JSON.stringify(annotation)}` };
  }
  if (/^[a-z][a-z0-9+.-]*:\/\/[^/]/i.test(annotation) && URL.canParse(annotation)) {
    return { state: 'approved', message: `approved in ${annotation}` };
  }
  const message = `protected groups must have approval annotation ${named} with either a URL or a reason starting with "unapproved", ${SEE}`;
  return { state: 'invalid', message };
}
