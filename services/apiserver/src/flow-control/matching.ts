import {
  byPrecedence,
  type FlowcontrolV1Subject,
  type FlowSchema,
  type NonResourcePolicyRule,
  type ResourcePolicyRule,
} from '@holdfast/api';
import type { User } from '../authentication/identity.ts';
import type { NonResourceRequest, RequestInfo, ResourceRequest } from '../http/request-info.ts';

/**
 * Finds the first schema by precedence that matches a request. Rules are indexed by user and then by target; each
 * combination is computed once and cached, so that a request costs a few lookups however many schemas there are.
 */
export class FlowMatcher {
  readonly schemas: readonly FlowSchema[];
  readonly #bySubject = new Map<string, number[]>();
  /** Rules of all schemas, in the order of precedence. */
  readonly #rules: readonly Rule[];
  readonly #ofUser = new WeakMap<User, UserRules>();
  /** Users for whom the same rules are. */
  readonly #shared = new Map<string, UserRules>();

  constructor(schemas: readonly FlowSchema[]) {
    this.schemas = schemas.toSorted(byPrecedence);
    this.#rules = this.schemas.flatMap(({ spec }, schema) =>
      (spec.rules ?? []).map(({ subjects, resourceRules = [], nonResourceRules = [] }) => {
        return { schema, subjects, resourceRules, nonResourceRules };
      }),
    );
    for (const [id, { subjects }] of this.#rules.entries()) {
      for (const key of new Set(subjects.map(keyOfSubject))) this.#add(key, id);
    }
  }

  match(user: User, info: RequestInfo): FlowSchema | undefined {
    let rules = this.#ofUser.get(user);
    if (rules === undefined) {
      rules = this.#rulesOf(user);
      this.#ofUser.set(user, rules);
    }
    const at = info.kind === 'path' ? rules.matchPath(info) : rules.matchResource(info);
    return at === NONE ? undefined : this.schemas[at];
  }

  /** Kinds of requests that are remembered. */
  get remembered(): number {
    return [...this.#shared.values()].reduce((sum, { remembered }) => sum + remembered, 0);
  }

  #add(key: string, id: number): void {
    const known = this.#bySubject.get(key);
    if (known === undefined) this.#bySubject.set(key, [id]);
    else known.push(id);
  }

  #rulesOf(user: User): UserRules {
    const ids = new Set<number>();
    for (const key of keysOfUser(user)) for (const id of this.#bySubject.get(key) ?? []) ids.add(id);
    const sorted = [...ids].toSorted((a, b) => a - b);
    const text = sorted.join(',');
    let rules = this.#shared.get(text);
    if (rules === undefined) {
      rules = new UserRules(sorted.flatMap((id) => this.#rules[id] ?? []));
      if (this.#shared.size >= REMEMBERED_MAX) this.#shared.clear();
      this.#shared.set(text, rules);
    }
    return rules;
  }
}

interface Rule {
  /** Its place by precedence. */
  readonly schema: number;
  readonly subjects: readonly FlowcontrolV1Subject[];
  readonly resourceRules: readonly ResourcePolicyRule[];
  readonly nonResourceRules: readonly NonResourcePolicyRule[];
}

const NONE = Number.POSITIVE_INFINITY;

/** Users can request unlimited combinations, so the cache is bounded. */
const REMEMBERED_MAX = 2_048;

const ACCOUNT = /^system:serviceaccount:([^:]+):([^:]+)$/;

/** Kinds are one letter; the wildcard is a name like others. */
function keyOfSubject({ kind, user, group, serviceAccount }: FlowcontrolV1Subject): string {
  if (kind === 'User') return user?.name === '*' ? 'g *' : `u ${user?.name ?? ''}`;
  if (kind === 'Group') return `g ${group?.name ?? ''}`;
  return serviceAccount?.name === '*'
    ? `n ${serviceAccount.namespace}`
    : `u system:serviceaccount:${serviceAccount?.namespace ?? ''}:${serviceAccount?.name ?? ''}`;
}

function keysOfUser({ name, groups }: User): readonly string[] {
  const namespace = ACCOUNT.exec(name)?.[1];
  return [
    'g *',
    `u ${name}`,
    ...groups.map((group) => `g ${group}`),
    ...(namespace === undefined ? [] : [`n ${namespace}`]),
  ];
}

/** The rules for one user, by target. */
class UserRules {
  readonly #rules: readonly Rule[];
  readonly #resources = new Map<string, Scopes>();
  readonly #paths = new Map<string, Paths>();

  constructor(rules: readonly Rule[]) {
    this.#rules = rules;
  }

  get remembered(): number {
    return this.#resources.size;
  }

  matchResource({ verb, group, resource, subresource, namespace }: ResourceRequest): number {
    const what = `${verb} ${group} ${resource}/${subresource}`;
    let scopes = this.#resources.get(what);
    if (scopes === undefined) {
      scopes = this.#scopesOf(verb, group, subresource === '' ? resource : `${resource}/${subresource}`);
      if (this.#resources.size >= REMEMBERED_MAX) this.#resources.clear();
      this.#resources.set(what, scopes);
    }
    if (namespace === '') return scopes.cluster;
    return Math.min(scopes.everyNamespace, scopes.byNamespace.get(namespace) ?? NONE);
  }

  matchPath({ verb, path }: NonResourceRequest): number {
    let paths = this.#paths.get(verb);
    if (paths === undefined) {
      paths = this.#pathsOf(verb);
      this.#paths.set(verb, paths);
    }
    let first = Math.min(paths.all, paths.exact.get(path) ?? NONE);
    for (const length of paths.prefixLengths) {
      if (length <= path.length) first = Math.min(first, paths.prefixes.get(path.slice(0, length)) ?? NONE);
    }
    return first;
  }

  #scopesOf(verb: string, group: string, resource: string): Scopes {
    const scopes = { cluster: NONE, everyNamespace: NONE, byNamespace: new Map<string, number>() };
    for (const { schema, resourceRules } of this.#rules) {
      for (const { verbs, apiGroups, resources, namespaces = [], clusterScope } of resourceRules) {
        if (!has(verbs, verb) || !has(apiGroups, group) || !has(resources, resource)) continue;
        if (clusterScope === true) scopes.cluster = Math.min(scopes.cluster, schema);
        if (namespaces.includes('*')) scopes.everyNamespace = Math.min(scopes.everyNamespace, schema);
        for (const each of namespaces) keepFirst(scopes.byNamespace, each, schema);
      }
    }
    return scopes;
  }

  #pathsOf(verb: string): Paths {
    const exact = new Map<string, number>();
    const prefixes = new Map<string, number>();
    for (const { schema, nonResourceRules } of this.#rules) {
      for (const { verbs, nonResourceURLs } of nonResourceRules) {
        if (!has(verbs, verb)) continue;
        for (const url of nonResourceURLs) {
          keepFirst(exact, url, schema);
          // A path includes everything below it.
          const trimmed = url.endsWith('*') ? url.slice(0, -1) : url;
          keepFirst(prefixes, trimmed.endsWith('/') ? trimmed : `${trimmed}/`, schema);
        }
      }
    }
    const prefixLengths = [...new Set([...prefixes.keys()].map((prefix) => prefix.length))];
    return { all: exact.get('*') ?? NONE, exact, prefixes, prefixLengths };
  }
}

/** Places of the first schemas that match one kind of request. */
interface Scopes {
  readonly cluster: number;
  readonly everyNamespace: number;
  readonly byNamespace: ReadonlyMap<string, number>;
}

interface Paths {
  readonly all: number;
  readonly exact: ReadonlyMap<string, number>;
  readonly prefixes: ReadonlyMap<string, number>;
  readonly prefixLengths: readonly number[];
}

const has = (values: readonly string[], value: string): boolean => values.includes(value) || values[0] === '*';

function keepFirst(map: Map<string, number>, key: string, schema: number): void {
  if (!map.has(key)) map.set(key, schema);
}
