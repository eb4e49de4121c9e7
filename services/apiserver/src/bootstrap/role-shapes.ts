import type { ClusterRole, LabelSelector, PolicyRule, RoleRef, Subject } from '@holdfast/api';

/** A role that every cluster has. */
export interface BootstrapRole {
  readonly metadata: BootstrapMeta;
  readonly rules: readonly PolicyRule[];
  readonly aggregationRule?: NonNullable<ClusterRole['aggregationRule']>;
}

export interface BootstrapBinding {
  readonly metadata: BootstrapMeta;
  readonly roleRef: RoleRef;
  readonly subjects: readonly Subject[];
}

interface BootstrapMeta {
  readonly name: string;
  readonly labels: Readonly<Record<string, string>>;
  readonly annotations: Readonly<Record<string, string>>;
}

/** The value "false" keeps the role or binding unchanged at server starts. */
export const AUTOUPDATE = 'rbac.authorization.kubernetes.io/autoupdate';
const API_GROUP = 'rbac.authorization.k8s.io';
const AGGREGATE_TO = 'rbac.authorization.k8s.io/aggregate-to-';

const bootstrapMeta = (name: string, labels: Readonly<Record<string, string>> = {}): BootstrapMeta => ({
  name,
  labels: { 'kubernetes.io/bootstrapping': 'rbac-defaults', ...labels },
  annotations: { [AUTOUPDATE]: 'true' },
});

export const READ = 'get list watch';
export const WRITE = 'create delete deletecollection patch update';

/** Words with blanks between; each list is kept in order, as Kubernetes shows it. */
export const rule = (
  verbs: string,
  groups: string | readonly string[],
  resources: string,
  ...resourceNames: readonly string[]
): PolicyRule => ({
  verbs: sorted(verbs),
  apiGroups: typeof groups === 'string' ? [groups] : [...groups],
  resources: sorted(resources),
  ...(resourceNames.length === 0 ? {} : { resourceNames: [...resourceNames] }),
});

const sorted = (words: string): string[] => words.split(' ').sort();

export const urls = (...nonResourceURLs: string[]): PolicyRule => ({ verbs: ['get'], nonResourceURLs });

export const WRITE_EVENTS = rule('create patch update', ['', 'events.k8s.io'], 'events');

export const role = (name: string, ...rules: readonly PolicyRule[]): BootstrapRole => ({
  metadata: bootstrapMeta(name),
  rules,
});

export type UserRole = 'admin' | 'edit' | 'view';

/** A role that is a part of those of users. */
export const partOf = (users: readonly UserRole[], { metadata, ...rest }: BootstrapRole): BootstrapRole => ({
  ...rest,
  metadata: bootstrapMeta(metadata.name, Object.fromEntries(users.map((user) => [`${AGGREGATE_TO}${user}`, 'true']))),
});

export const selectorOf = (user: UserRole): LabelSelector => ({ matchLabels: { [`${AGGREGATE_TO}${user}`]: 'true' } });

export const toGroups = (...names: readonly string[]): readonly Subject[] =>
  names.map((name) => ({ kind: 'Group', apiGroup: API_GROUP, name }));

export const toUser = (name: string): readonly Subject[] => [{ kind: 'User', apiGroup: API_GROUP, name }];

export const toAccount = (name: string): readonly Subject[] => [
  { kind: 'ServiceAccount', name, namespace: 'kube-system' },
];

/** It bears the name of its role. */
export const binding = (
  name: string,
  subjects: readonly Subject[],
  kind: 'ClusterRole' | 'Role' = 'ClusterRole',
): BootstrapBinding => ({ metadata: bootstrapMeta(name), roleRef: { apiGroup: API_GROUP, kind, name }, subjects });
