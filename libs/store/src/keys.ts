import type { StoreKey } from './port.ts';

/** Placeholder for "no namespace" in a key; not a legal namespace name, so it can never collide. */
const CLUSTER_SCOPE = '-';
const CORE_GROUP = 'core';

export interface KeyParts {
  /** API group; '' for the core group. */
  readonly group: string;
  /** Plural, lower case. */
  readonly resource: string;
  /** '' for cluster-scoped objects. */
  readonly namespace: string;
  readonly name: string;
}

export function objectKey(parts: KeyParts): StoreKey {
  return `${namespacePrefix(parts.group, parts.resource, parts.namespace)}${parts.name}`;
}

/** Prefix of every object of a resource. */
export function resourcePrefix(group: string, resource: string): string {
  return `${group === '' ? CORE_GROUP : group}/${resource}/`;
}

/** Prefix of every object of a resource in one namespace ('' = cluster scope). */
export function namespacePrefix(group: string, resource: string, namespace: string): string {
  return `${resourcePrefix(group, resource)}${namespace === '' ? CLUSTER_SCOPE : namespace}/`;
}

function parseShortKey(key: StoreKey): KeyParts {
  const [group = '', resource = '', namespace = ''] = key.split('/');
  return {
    group: group === CORE_GROUP ? '' : group,
    resource,
    namespace: namespace === CLUSTER_SCOPE ? '' : namespace,
    name: '',
  };
}

export function parseKey(key: StoreKey): KeyParts {
  const first = key.indexOf('/');
  const second = key.indexOf('/', first + 1);
  const third = key.indexOf('/', second + 1);
  if (first < 0 || second < 0 || third < 0) return parseShortKey(key);
  const group = key.slice(0, first);
  const resource = key.slice(first + 1, second);
  const namespace = key.slice(second + 1, third);
  const end = key.indexOf('/', third + 1);
  const name = key.slice(third + 1, end < 0 ? undefined : end);
  return {
    group: group === CORE_GROUP ? '' : group,
    resource,
    namespace: namespace === CLUSTER_SCOPE ? '' : namespace,
    name,
  };
}
