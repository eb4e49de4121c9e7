import {
  CLUSTER_ROLE_BINDINGS,
  CLUSTER_ROLES,
  type KubeObject,
  type PolicyRule,
  type ResourceRef,
  ROLE_BINDINGS,
  ROLES,
  type RoleRef,
  type Subject,
} from '@holdfast/api';
import type { User } from '../authentication/identity.ts';
import type { ObjectReader } from '../cache/reader.ts';
import type { ResourceCache } from '../cache/resource-cache.ts';
import type { WatchCache } from '../cache/watch-cache.ts';
import { MISSING_ROLES_TOLD } from '../limits.ts';
import type { Authorizer } from './port.ts';
import { isAllowedBy } from './role-lookup.ts';

export interface Rbac extends Authorizer {
  /** Every rule that applies to a user in a namespace ('' = only cluster-wide ones). */
  rulesFor(user: User, namespace: string): readonly PolicyRule[];
  /** Returns the rules of a role for a binding in `namespace`; `undefined` when the role does not exist. */
  rulesOf(roleRef: RoleRef, namespace: string): readonly PolicyRule[] | undefined;
  /** Returns one sentence per missing role that the user's bindings name. */
  missingFor(user: User, namespace: string): readonly string[];
}

const INDEXED: readonly ResourceRef[] = [CLUSTER_ROLE_BINDINGS, ROLE_BINDINGS];

/** Roles and bindings from the cache; the index is rebuilt after a change, not per request. */
export function createRbac(deps: { readonly reader: ObjectReader; readonly cache: WatchCache }): Rbac {
  let index: BindingIndex | undefined;
  const current = (): BindingIndex => {
    const state = INDEXED.map((each) => deps.cache.resource(each.group, each.plural));
    // A reloaded cache is a new object with unrelated versions.
    const same =
      index?.state.every(({ cache, version }, i) => cache === state[i] && version === cache.version) === true;
    if (index === undefined || !same) index = buildIndex(deps.reader, state);
    return index;
  };
  const rulesOf = ({ kind, name }: RoleRef, namespace: string): readonly PolicyRule[] | undefined => {
    const { reader } = deps;
    const role =
      kind === 'ClusterRole' ? reader.cached(CLUSTER_ROLES, { name }) : reader.cached(ROLES, { namespace, name });
    // A role without rules exists all the same.
    return role === undefined ? undefined : (role.rules ?? []);
  };
  /** Each role once, however many bindings give it. */
  const granted = function* (user: User, namespace: string): Iterable<Grant> {
    const seen = new Set<string>();
    const { clusterWide, byNamespace } = current();
    const own = namespace === '' ? undefined : byNamespace.get(namespace);
    for (const subject of subjectsOf(user)) {
      for (const grants of [clusterWide.get(subject), own?.get(subject)]) {
        for (const grant of grants?.values() ?? NOTHING) {
          if (seen.has(grant.role)) continue;
          seen.add(grant.role);
          yield grant;
        }
      }
    }
  };
  const missingFor = (user: User, namespace: string): readonly string[] => {
    const gone = new Set<string>();
    for (const { roleRef, namespace: from } of granted(user, namespace)) {
      if (gone.size === MISSING_ROLES_TOLD) break;
      if (rulesOf(roleRef, from) === undefined)
        gone.add(`${singular(roleRef)} ${JSON.stringify(roleRef.name)} not found`);
    }
    return [...gone];
  };
  return {
    rulesOf,
    missingFor,
    rulesFor: (user, namespace) =>
      [...granted(user, namespace)].flatMap((grant) => rulesOf(grant.roleRef, grant.namespace) ?? []),
    authorize: (user, info) => {
      for (const grant of granted(user, info.kind === 'path' ? '' : info.namespace)) {
        const rules = rulesOf(grant.roleRef, grant.namespace);
        if (rules !== undefined && isAllowedBy(rules, info)) return `RBAC: allowed by ${reasonOf(grant)}`;
      }
      return undefined;
    },
    whyNot: (user, info) => {
      const missing = missingFor(user, info.kind === 'path' ? '' : info.namespace);
      return missing.length === 0 ? undefined : `RBAC: ${aggregated(missing)}`;
    },
  };
}

/** Several sentences as one. */
export const aggregated = (sentences: readonly string[]): string =>
  sentences.length > 1 ? `[${sentences.join(', ')}]` : (sentences[0] ?? '');

const singular = ({ kind }: RoleRef): string => `${kind.toLowerCase()}.rbac.authorization.k8s.io`;

interface Grant {
  readonly bound: Binding;
  readonly subject: Subject;
  readonly roleRef: RoleRef;
  readonly namespace: string;
  /** Names the role among all; equal for all bindings that give it. */
  readonly role: string;
}

const NOTHING: readonly Grant[] = [];

/** By subject, then by role: the first binding that grants it. */
type GrantsBySubject = Map<string, Map<string, Grant>>;

interface BindingIndex {
  readonly state: readonly { readonly cache: ResourceCache; readonly version: number }[];
  readonly clusterWide: GrantsBySubject;
  readonly byNamespace: Map<string, GrantsBySubject>;
}

function buildIndex(reader: ObjectReader, caches: readonly ResourceCache[]): BindingIndex {
  const state = caches.map((cache) => ({ cache, version: cache.version }));
  const index: BindingIndex = { state, clusterWide: new Map(), byNamespace: new Map() };
  for (const binding of reader.list(CLUSTER_ROLE_BINDINGS)) {
    addGrants(index.clusterWide, binding);
  }
  for (const binding of reader.list(ROLE_BINDINGS)) {
    const namespace = binding.metadata.namespace ?? '';
    const grants: GrantsBySubject = index.byNamespace.get(namespace) ?? new Map();
    index.byNamespace.set(namespace, grants);
    addGrants(grants, binding);
  }
  return index;
}

type Binding = KubeObject & { readonly roleRef: RoleRef; readonly subjects?: readonly Subject[] };

function addGrants(grants: GrantsBySubject, bound: Binding): void {
  const namespace = bound.metadata.namespace ?? '';
  const { roleRef } = bound;
  const role = roleRef.kind === 'ClusterRole' ? `/${roleRef.name}` : `${namespace}/${roleRef.name}`;
  for (const subject of bound.subjects ?? []) {
    const key = subjectKey(subject, namespace);
    const own: Map<string, Grant> = grants.get(key) ?? new Map();
    grants.set(key, own);
    if (!own.has(role)) own.set(role, { bound, subject, roleRef, namespace, role });
  }
}

/** `ClusterRoleBinding "x" of ClusterRole "y" to User "z"`. */
function reasonOf({ bound, subject, roleRef, namespace }: Grant): string {
  const kind = namespace === '' ? 'ClusterRoleBinding' : 'RoleBinding';
  const from = `${kind} ${quoted(bound.metadata.name, namespace)} of ${roleRef.kind} ${JSON.stringify(roleRef.name)}`;
  return `${from} to ${describe(subject, namespace)}`;
}

/** Name first: `"bot/default"`. */
const quoted = (name = '', namespace = ''): string => JSON.stringify(namespace === '' ? name : `${name}/${namespace}`);

const describe = ({ kind, name, namespace }: Subject, bindingNamespace: string): string =>
  kind === 'ServiceAccount'
    ? `${kind} ${JSON.stringify(`${name}/${namespace || bindingNamespace}`)}`
    : `${kind} ${JSON.stringify(name)}`;

function subjectKey({ kind, name, namespace }: Subject, bindingNamespace: string): string {
  if (kind !== 'ServiceAccount') return `${kind}/${name}`;
  return `User/system:serviceaccount:${namespace || bindingNamespace}:${name}`;
}

function* subjectsOf(user: User): Iterable<string> {
  yield `User/${user.name}`;
  for (const group of user.groups) yield `Group/${group}`;
}
