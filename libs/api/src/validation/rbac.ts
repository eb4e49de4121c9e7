import { type FieldError, invalid, notSupported, required } from '@holdfast/machinery';
import type { PolicyRule, RoleRef, Subject } from '../generated/types.ts';
import { validateDnsSubdomain, validateRequiredText } from './check.ts';
import type { Check } from './formats.ts';
import { goStrings } from './go-text.ts';

/** Role names may be any path segment. */
export const pathSegmentErrors: Check = (name) => {
  if (name === '.' || name === '..') return [`may not be '${name}'`];
  const errors: string[] = [];
  for (const part of ['/', '%']) if (name.includes(part)) errors.push(`may not contain '${part}'`);
  return errors;
};

export function validatePolicyRule(
  out: FieldError[],
  path: string,
  rule: Readonly<PolicyRule>,
  namespaced: boolean,
): void {
  const { verbs, apiGroups = [], resources = [], nonResourceURLs = [] } = rule;
  if ((verbs ?? []).length === 0) out.push(required(`${path}.verbs`, 'verbs must contain at least one value'));
  if (nonResourceURLs.length > 0) {
    if (namespaced) {
      const detail = 'namespaced rules cannot apply to non-resource URLs';
      out.push(invalid(`${path}.nonResourceURLs`, goStrings(nonResourceURLs), detail));
    }
    if (apiGroups.length > 0 || resources.length > 0 || (rule.resourceNames ?? []).length > 0) {
      const detail = 'rules cannot apply to both regular resources and non-resource URLs';
      out.push(invalid(`${path}.nonResourceURLs`, goStrings(nonResourceURLs), detail));
    }
    return;
  }
  if (apiGroups.length === 0) {
    out.push(required(`${path}.apiGroups`, 'resource rules must supply at least one api group'));
  }
  if (resources.length === 0) {
    out.push(required(`${path}.resources`, 'resource rules must supply at least one resource'));
  }
}

const RBAC_GROUP = 'rbac.authorization.k8s.io';

export function validateRoleRef(out: FieldError[], ref: Readonly<RoleRef>, kinds: readonly string[]): void {
  if (ref.apiGroup !== RBAC_GROUP) out.push(notSupported('roleRef.apiGroup', ref.apiGroup ?? '', [RBAC_GROUP]));
  if (!kinds.includes(ref.kind)) out.push(notSupported('roleRef.kind', ref.kind ?? '', kinds));
  if (!validateRequiredText(out, 'roleRef.name', ref.name)) return;
  for (const text of pathSegmentErrors(ref.name)) out.push(invalid('roleRef.name', ref.name, text));
}

export function validateSubject(
  out: FieldError[],
  path: string,
  subject: Readonly<Subject>,
  namespaced: boolean,
): void {
  validateRequiredText(out, `${path}.name`, subject.name);
  const group = subject.apiGroup ?? '';
  switch (subject.kind ?? '') {
    case 'ServiceAccount':
      if (subject.name) validateDnsSubdomain(out, `${path}.name`, subject.name);
      if (group !== '') out.push(notSupported(`${path}.apiGroup`, group, ['']));
      if (!namespaced && !subject.namespace) out.push(required(`${path}.namespace`));
      break;
    case 'User':
    case 'Group':
      if (group !== RBAC_GROUP) out.push(notSupported(`${path}.apiGroup`, group, [RBAC_GROUP]));
      break;
    default:
      out.push(notSupported(`${path}.kind`, subject.kind ?? '', ['ServiceAccount', 'User', 'Group']));
  }
}

/** A user or group without an API group belongs to RBAC's group. */
export function setSubjectDefaults(subjects: readonly Subject[] | undefined): void {
  for (const subject of subjects ?? []) {
    if (!subject.apiGroup && (subject.kind === 'User' || subject.kind === 'Group')) subject.apiGroup = RBAC_GROUP;
  }
}

export function setRoleRefDefaults(ref: RoleRef | undefined): void {
  if (ref !== undefined && !ref.apiGroup) ref.apiGroup = RBAC_GROUP;
}
