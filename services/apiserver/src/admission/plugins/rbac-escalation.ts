import {
  CLUSTER_ROLES,
  type ClusterRole,
  type ClusterRoleBinding,
  type PolicyRule,
  type RoleBinding,
} from '@holdfast/api';
import { compileLabelSelector, deepEqual, forbiddenError, notFound } from '@holdfast/machinery';
import { isOwnController, MASTERS_GROUP } from '../../authentication/identity.ts';
import { isAllowed } from '../../authorization/chain.ts';
import { aggregated } from '../../authorization/rbac.ts';
import { describeRules, EVERYTHING, goQuoted } from '../../authorization/rbac-rules.ts';
import { RulesTooManifold, uncovered } from '../../authorization/rule-coverage.ts';
import { MISSING_RIGHTS_BYTES_TOLD, MISSING_RIGHTS_TOLD, RIGHTS_COMPARISON_STEPS_MAX } from '../../limits.ts';
import { changesOwnersAlone } from '../owners.ts';
import { type AdmissionDeps, type AdmissionPlugin, type AdmissionRequest, subjectOfRequest } from '../port.ts';

const GROUP = 'rbac.authorization.k8s.io';

/** Nobody can grant permissions without having them, neither in a role nor by a binding. */
export const createRbacEscalation = (deps: AdmissionDeps): AdmissionPlugin => ({
  name: 'RbacEscalation',
  handles: (request) =>
    request.definition.group === GROUP &&
    request.operation !== 'DELETE' &&
    !request.user.groups.includes(MASTERS_GROUP),
  validate: (request) =>
    request.definition.kind.endsWith('Binding') ? checkBinding(deps, request) : checkRole(deps, request),
});

async function checkRole(deps: AdmissionDeps, request: AdmissionRequest): Promise<void> {
  const role = request.object as ClusterRole | undefined;
  const old = request.old as ClusterRole | undefined;
  if (role === undefined || changesOwnersAlone(request)) return;
  if (isOwnController(request.user)) {
    checkAggregation(deps, request);
    return;
  }
  if (await may(deps, request, { verb: 'escalate', resource: request.definition.plural, name: request.name })) return;
  refuseMissing(deps, request, role.rules ?? []);
  if (isAggregated(role) || isAggregated(old)) refuseUnlessAll(deps, request);
}

const isAggregated = (role: ClusterRole | undefined): boolean =>
  (role?.aggregationRule?.clusterRoleSelectors ?? []).length > 0;

/** An aggregated role may get any permission later. */
function refuseUnlessAll(deps: AdmissionDeps, request: AdmissionRequest): void {
  if (missingOf(deps, request, EVERYTHING).length === 0) return;
  throw forbiddenError(subjectOfRequest(request), 'must have cluster-admin privileges to use the aggregationRule');
}

/** A controller may only combine the selected roles: each rule must be in one of them, and nothing else may change. */
function checkAggregation(deps: AdmissionDeps, request: AdmissionRequest): void {
  const role = request.object as ClusterRole | undefined;
  const old = request.old as ClusterRole | undefined;
  const selectors = (old?.aggregationRule?.clusterRoleSelectors ?? []).map(compileLabelSelector);
  const selected = deps.reader
    .list(CLUSTER_ROLES)
    .filter(({ metadata }) => metadata.name !== request.name)
    .filter(({ metadata }) => selectors.some((selector) => selector.matches(metadata.labels ?? {})));
  const allowed = new Set(selected.flatMap(({ rules = [] }) => rules.map(canonical)));
  const isSameOtherwise = role !== undefined && old !== undefined && deepEqual(restOf(role), restOf(old));
  if (isSameOtherwise && (role.rules ?? []).every((rule) => allowed.has(canonical(rule)))) return;
  throw forbiddenError(
    subjectOfRequest(request),
    'a controller may give a ClusterRole only the rules of the roles that its aggregationRule selects',
  );
}

/** Equal rules have equal texts, whatever the order of their fields. */
const canonical = ({ verbs, apiGroups, resources, resourceNames, nonResourceURLs }: PolicyRule): string =>
  JSON.stringify([verbs, apiGroups, resources, resourceNames, nonResourceURLs]);

const restOf = ({ aggregationRule, metadata }: ClusterRole): unknown => [
  aggregationRule ?? null,
  metadata.labels ?? {},
  metadata.annotations ?? {},
  metadata.ownerReferences ?? [],
  metadata.finalizers ?? [],
];

async function checkBinding(deps: AdmissionDeps, request: AdmissionRequest): Promise<void> {
  const binding = request.object as (RoleBinding | ClusterRoleBinding) | undefined;
  if (binding === undefined || changesOwnersAlone(request)) return;
  const { roleRef } = binding;
  const plural = roleRef.kind === 'ClusterRole' ? 'clusterroles' : 'roles';
  if (await may(deps, request, { verb: 'bind', resource: plural, name: roleRef.name })) return;
  const rules = deps.access.rbac.rulesOf(roleRef, request.namespace);
  if (rules === undefined) throw notFound({ group: GROUP, resource: plural, name: roleRef.name });
  refuseMissing(deps, request, rules);
}

interface Right {
  readonly verb: 'escalate' | 'bind';
  readonly resource: string;
  readonly name: string;
}

async function may(deps: AdmissionDeps, request: AdmissionRequest, right: Right): Promise<boolean> {
  const reason = await isAllowed(deps.access.authorizers, request.user, {
    kind: 'resource',
    path: '',
    group: GROUP,
    version: 'v1',
    namespace: request.namespace,
    ...right,
    subresource: '',
    rest: '',
  });
  return reason !== undefined;
}

/** Returns the permissions that the user would grant without having them. */
function missingOf(
  deps: AdmissionDeps,
  request: AdmissionRequest,
  rules: readonly PolicyRule[],
): readonly PolicyRule[] {
  const owned = deps.access.rbac.rulesFor(request.user, request.namespace);
  try {
    return uncovered(owned, rules, { steps: RIGHTS_COMPARISON_STEPS_MAX, told: MISSING_RIGHTS_TOLD });
  } catch (thrown) {
    if (!(thrown instanceof RulesTooManifold)) throw thrown;
    throw forbiddenError(
      subjectOfRequest(request),
      'the rules are too complex to compare with the permissions of the user; split them into several roles',
    );
  }
}

function refuseMissing(deps: AdmissionDeps, request: AdmissionRequest, rules: readonly PolicyRule[]): void {
  const { user, namespace } = request;
  const missing = missingOf(deps, request, rules);
  if (missing.length === 0) return;
  const gone = deps.access.rbac.missingFor(user, namespace);
  throw forbiddenError(
    subjectOfRequest(request),
    `user ${JSON.stringify(user.name)} (groups=${goQuoted(user.groups)}) is attempting to grant RBAC permissions not currently held:\n${told(missing)}${gone.length === 0 ? '' : `; resolution errors: [${aggregated(gone)}]`}`,
  );
}

function told(missing: readonly PolicyRule[]): string {
  const text = describeRules(missing).join('\n');
  if (text.length > MISSING_RIGHTS_BYTES_TOLD) return `${text.slice(0, MISSING_RIGHTS_BYTES_TOLD)}...`;
  return missing.length < MISSING_RIGHTS_TOLD ? text : `${text}\n...`;
}
