import { type BootstrapRole, READ, role, rule, urls, WRITE_EVENTS } from './role-shapes.ts';

const CERTIFICATES = 'certificates.k8s.io';
const LEASES = 'coordination.k8s.io';

const REVIEWS_OF_OTHERS = [
  rule('create', 'authentication.k8s.io', 'tokenreviews'),
  rule('create', 'authorization.k8s.io', 'subjectaccessreviews'),
];

/** Everybody, probes and those who ask on behalf of others. */
const OF_CLIENTS: readonly BootstrapRole[] = [
  role(
    'system:basic-user',
    rule('create', 'authorization.k8s.io', 'selfsubjectaccessreviews selfsubjectrulesreviews'),
    rule('create', 'authentication.k8s.io', 'selfsubjectreviews'),
  ),
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
  // The role above does not reach the metrics of nodes.
  role('holdfast:node-metrics', rule('get', '', 'nodes/metrics')),
  role('system:auth-delegator', ...REVIEWS_OF_OTHERS),
  role(
    'system:service-account-issuer-discovery',
    urls(
      '/.well-known/openid-configuration',
      '/.well-known/openid-configuration/',
      '/openid/v1/jwks',
      '/openid/v1/jwks/',
    ),
  ),
];

/** Roles for automatically approved node certificates and for approvers of a signer; not bound. */
const OF_CERTIFICATES: readonly BootstrapRole[] = [
  ...['nodeclient', 'selfnodeclient'].map((part) =>
    role(
      `system:${CERTIFICATES}:certificatesigningrequests:${part}`,
      rule('create', CERTIFICATES, `certificatesigningrequests/${part}`),
    ),
  ),
  ...['kube-apiserver-client', 'kube-apiserver-client-kubelet', 'kubelet-serving', 'legacy-unknown'].map((signer) =>
    role(
      `system:${CERTIFICATES}:${signer}-approver`,
      rule('approve', CERTIFICATES, 'signers', `kubernetes.io/${signer}`),
    ),
  ),
];

const OF_NODES: readonly BootstrapRole[] = [
  role(
    'system:node',
    rule('create', 'authentication.k8s.io', 'tokenreviews'),
    rule('create', 'authorization.k8s.io', 'localsubjectaccessreviews subjectaccessreviews'),
    rule(READ, '', 'services'),
    rule(`create ${READ}`, '', 'nodes'),
    rule('patch update', '', 'nodes/status'),
    rule('patch update', '', 'nodes'),
    rule('create patch update', '', 'events'),
    rule(READ, '', 'pods'),
    rule('create delete', '', 'pods'),
    rule('patch update', '', 'pods/status'),
    rule('create', '', 'pods/eviction'),
    rule(READ, '', 'configmaps secrets'),
    rule('get', '', 'persistentvolumeclaims persistentvolumes'),
    rule('get', '', 'endpoints'),
    rule(`create ${READ}`, CERTIFICATES, 'certificatesigningrequests'),
    rule('create delete get patch update', LEASES, 'leases'),
    rule('get', 'storage.k8s.io', 'volumeattachments'),
    rule('create', '', 'serviceaccounts/token'),
    rule('get patch update', '', 'persistentvolumeclaims/status'),
    rule(READ, 'storage.k8s.io', 'csidrivers'),
    rule('create delete get patch update', 'storage.k8s.io', 'csinodes'),
    rule(READ, 'node.k8s.io', 'runtimeclasses'),
  ),
  role('system:node-bootstrapper', rule(`create ${READ}`, CERTIFICATES, 'certificatesigningrequests')),
  role('system:node-problem-detector', rule('get', '', 'nodes'), rule('patch', '', 'nodes/status'), WRITE_EVENTS),
  role(
    'system:node-proxier',
    rule('list watch', '', 'endpoints services'),
    rule(READ, '', 'nodes'),
    WRITE_EVENTS,
    rule('list watch', 'discovery.k8s.io', 'endpointslices'),
  ),
  // The proxy here enforces network policies, too; the role above is the one of Kubernetes.
  role(
    'holdfast:network-policy',
    rule('list watch', '', 'namespaces pods'),
    rule('list watch', 'networking.k8s.io', 'networkpolicies'),
  ),
  role(
    'system:kubelet-api-admin',
    rule(READ, '', 'nodes'),
    rule('proxy', '', 'nodes'),
    rule('*', '', 'nodes/log nodes/metrics nodes/proxy nodes/stats'),
  ),
];

const leaseOf = (component: string): readonly ReturnType<typeof rule>[] => [
  rule('create', LEASES, 'leases'),
  rule('get update', LEASES, 'leases', component),
];

const OF_COMPONENTS: readonly BootstrapRole[] = [
  role(
    'system:kube-controller-manager',
    WRITE_EVENTS,
    ...leaseOf('kube-controller-manager'),
    rule('create', '', 'secrets serviceaccounts'),
    rule('delete', '', 'secrets'),
    rule('get', '', 'configmaps namespaces secrets serviceaccounts'),
    rule('update', '', 'secrets serviceaccounts'),
    ...REVIEWS_OF_OTHERS,
    rule('list watch', '*', '*'),
    rule('create', '', 'serviceaccounts/token'),
  ),
  role(
    'system:kube-scheduler',
    WRITE_EVENTS,
    ...leaseOf('kube-scheduler'),
    rule(READ, '', 'nodes'),
    rule(`delete ${READ}`, '', 'pods'),
    rule('create', '', 'bindings pods/binding'),
    rule('patch update', '', 'pods/status'),
    rule(READ, '', 'replicationcontrollers services'),
    rule(READ, ['apps', 'extensions'], 'replicasets'),
    rule(READ, 'apps', 'statefulsets'),
    rule(READ, 'policy', 'poddisruptionbudgets'),
    rule(READ, '', 'persistentvolumeclaims persistentvolumes'),
    ...REVIEWS_OF_OTHERS,
    rule(READ, 'storage.k8s.io', 'csinodes'),
    rule(READ, '', 'namespaces'),
    rule(READ, 'storage.k8s.io', 'csidrivers'),
    rule(READ, 'storage.k8s.io', 'csistoragecapacities'),
  ),
  role(
    'system:volume-scheduler',
    rule(`patch update ${READ}`, '', 'persistentvolumes'),
    rule(READ, 'storage.k8s.io', 'storageclasses'),
    rule(`patch update ${READ}`, '', 'persistentvolumeclaims'),
  ),
  role('system:kube-dns', rule('list watch', '', 'endpoints services')),
  role('system:kube-aggregator', rule(READ, '', 'endpoints services')),
  role('system:heapster', rule(READ, '', 'events namespaces nodes pods'), rule(READ, 'extensions', 'deployments')),
  role(
    'system:persistent-volume-provisioner',
    rule(`create delete ${READ}`, '', 'persistentvolumes'),
    rule(`update ${READ}`, '', 'persistentvolumeclaims'),
    rule(READ, 'storage.k8s.io', 'storageclasses'),
    rule('watch', '', 'events'),
    WRITE_EVENTS,
  ),
];

export const SYSTEM_ROLES: readonly BootstrapRole[] = [
  ...OF_CLIENTS,
  ...OF_CERTIFICATES,
  ...OF_NODES,
  ...OF_COMPONENTS,
];
