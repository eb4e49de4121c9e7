import type { PolicyRule, RoleRef, Subject } from '@holdfast/api';

interface Role {
  readonly metadata: { readonly name: string; readonly labels: Readonly<Record<string, string>> };
  readonly rules: readonly PolicyRule[];
}

interface RoleBinding {
  readonly metadata: { readonly name: string; readonly labels: Readonly<Record<string, string>> };
  readonly roleRef: RoleRef;
  readonly subjects: readonly Subject[];
}

const LABELS = { 'kubernetes.io/bootstrapping': 'rbac-defaults' };
const API_GROUP = 'rbac.authorization.k8s.io';

const READ = ['get', 'list', 'watch'];
const WRITE = ['create', 'delete', 'deletecollection', 'patch', 'update'];
const ALL_VERBS = [...READ, ...WRITE];

const rule = (verbs: readonly string[], groups: readonly string[], resources: readonly string[]): PolicyRule => ({
  verbs: [...verbs],
  apiGroups: [...groups],
  resources: [...resources],
});

const urls = (...nonResourceURLs: string[]): PolicyRule => ({ verbs: ['get'], nonResourceURLs });

const role = (name: string, ...rules: readonly PolicyRule[]): Role => ({ metadata: { name, labels: LABELS }, rules });

/** What users of a namespace work with, by group. */
const WORK: readonly (readonly [readonly string[], readonly string[]])[] = [
  [
    [''],
    [
      'configmaps',
      'endpoints',
      'events',
      'persistentvolumeclaims',
      'pods',
      'replicationcontrollers',
      'replicationcontrollers/scale',
      'serviceaccounts',
      'services',
    ],
  ],
  [
    ['apps'],
    [
      'controllerrevisions',
      'daemonsets',
      'deployments',
      'deployments/scale',
      'replicasets',
      'replicasets/scale',
      'statefulsets',
      'statefulsets/scale',
    ],
  ],
  [['autoscaling'], ['horizontalpodautoscalers']],
  [['batch'], ['cronjobs', 'jobs']],
  [['discovery.k8s.io'], ['endpointslices']],
  [['networking.k8s.io'], ['ingresses', 'networkpolicies']],
  [['policy'], ['poddisruptionbudgets']],
  [['coordination.k8s.io'], ['leases']],
];

const VIEW: readonly PolicyRule[] = [
  ...WORK.map(([groups, resources]) => rule(READ, groups, resources)),
  rule(READ, [''], ['limitranges', 'namespaces', 'namespaces/status', 'pods/log', 'pods/status', 'resourcequotas']),
  rule(READ, ['metrics.k8s.io'], ['nodes', 'pods']),
  rule(READ, ['apps'], ['daemonsets/status', 'deployments/status', 'replicasets/status', 'statefulsets/status']),
];

const EDIT: readonly PolicyRule[] = [
  ...VIEW,
  ...WORK.map(([groups, resources]) => rule(WRITE, groups, resources)),
  rule(ALL_VERBS, [''], ['secrets']),
  rule(['create', 'get'], [''], ['pods/attach', 'pods/exec', 'pods/portforward', 'pods/proxy', 'services/proxy']),
  rule(['create'], [''], ['pods/eviction', 'serviceaccounts/token']),
  rule(['impersonate'], [''], ['serviceaccounts']),
  rule(WRITE, ['apps'], ['deployments/rollback']),
];

const ADMIN: readonly PolicyRule[] = [
  ...EDIT,
  rule(ALL_VERBS, [API_GROUP], ['roles', 'rolebindings']),
  rule(['create'], ['authorization.k8s.io'], ['localsubjectaccessreviews']),
];

const REVIEWS = rule(['create'], ['authorization.k8s.io'], ['selfsubjectaccessreviews', 'selfsubjectrulesreviews']);

export const BOOTSTRAP_ROLES: readonly Role[] = [
  role('cluster-admin', rule(['*'], ['*'], ['*']), { verbs: ['*'], nonResourceURLs: ['*'] }),
  role('admin', ...ADMIN),
  role('edit', ...EDIT),
  role('view', ...VIEW),
  role('system:basic-user', REVIEWS, rule(['create'], ['authentication.k8s.io'], ['selfsubjectreviews'])),
  role(
    'system:discovery',
    urls(
      '/api',
      '/api/*',
      '/apis',
      '/apis/*',
      '/healthz',
      '/livez',
      '/openapi',
      '/openapi/*',
      '/readyz',
      '/version',
      '/version/',
    ),
  ),
  role('system:public-info-viewer', urls('/healthz', '/livez', '/readyz', '/version', '/version/')),
  role(
    'system:monitoring',
    urls('/healthz', '/healthz/*', '/livez', '/livez/*', '/metrics', '/metrics/slis', '/readyz', '/readyz/*'),
  ),
  role(
    'system:auth-delegator',
    rule(['create'], ['authentication.k8s.io'], ['tokenreviews']),
    rule(['create'], ['authorization.k8s.io'], ['subjectaccessreviews']),
  ),
  role(
    'system:service-account-issuer-discovery',
    urls(
      '/.well-known/openid-configuration',
      '/.well-known/openid-configuration/',
      '/openid/v1/jwks',
      '/openid/v1/jwks/',
    ),
  ),
  role(
    'system:persistent-volume-provisioner',
    rule(['create', 'delete', ...READ], [''], ['persistentvolumes']),
    rule(['update', ...READ], [''], ['persistentvolumeclaims']),
    rule(READ, ['storage.k8s.io'], ['storageclasses']),
    rule(['create', 'patch', 'update', 'watch'], [''], ['events']),
  ),
  // Whose requests for client certificates of nodes approve themselves; bound to nobody.
  ...['nodeclient', 'selfnodeclient'].map((part) =>
    role(
      `system:certificates.k8s.io:certificatesigningrequests:${part}`,
      rule(['create'], ['certificates.k8s.io'], [`certificatesigningrequests/${part}`]),
    ),
  ),
];

const binding = (roleName: string, ...subjects: readonly (readonly ['Group' | 'User', string])[]): RoleBinding => ({
  metadata: { name: roleName, labels: LABELS },
  roleRef: { apiGroup: API_GROUP, kind: 'ClusterRole', name: roleName },
  subjects: subjects.map(([kind, name]) => ({ kind, apiGroup: API_GROUP, name })),
});

export const BOOTSTRAP_ROLE_BINDINGS: readonly RoleBinding[] = [
  binding('cluster-admin', ['Group', 'system:masters']),
  binding('system:basic-user', ['Group', 'system:authenticated']),
  binding('system:discovery', ['Group', 'system:authenticated']),
  binding('system:public-info-viewer', ['Group', 'system:authenticated'], ['Group', 'system:unauthenticated']),
  binding('system:monitoring', ['Group', 'system:monitoring']),
  binding('system:service-account-issuer-discovery', ['Group', 'system:serviceaccounts']),
];
