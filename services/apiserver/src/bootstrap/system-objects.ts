import { findResource } from '@holdfast/api';
import type { ApiHandler, ApiResponse } from '@holdfast/client';
import { type Clock, invariant, OperatorError } from '@holdfast/platform';
import { addressText, type Range } from '../allocation/ranges.ts';
import { SYSTEM_OBJECT_ATTEMPTS_MAX, SYSTEM_OBJECT_RETRY_MS } from '../limits.ts';
import { BOOTSTRAP_ROLE_BINDINGS, BOOTSTRAP_ROLES } from './roles.ts';

interface SystemObject {
  readonly group: string;
  readonly version: string;
  readonly plural: string;
  readonly namespace?: string;
  readonly object: { readonly metadata: { readonly name: string; readonly labels?: object }; readonly spec?: object };
}

const NAMESPACES: readonly SystemObject[] = ['default', 'kube-system', 'kube-public', 'kube-node-lease'].map(
  (name) => ({
    group: '',
    version: 'v1',
    plural: 'namespaces',
    object: { metadata: { name } },
  }),
);

const PRIORITY_CLASSES: readonly SystemObject[] = [
  ['system-cluster-critical', 2_000_000_000, 'Used for system critical pods that must run in the cluster.'],
  ['system-node-critical', 2_000_001_000, 'Used for system critical pods that must not be moved from their node.'],
].map(([name, value, description]) => ({
  group: 'scheduling.k8s.io',
  version: 'v1',
  plural: 'priorityclasses',
  object: { metadata: { name: String(name) }, value, description },
}));

const RBAC = { group: 'rbac.authorization.k8s.io', version: 'v1' };

const CLUSTER_SCOPED: readonly SystemObject[] = [
  ...PRIORITY_CLASSES,
  ...BOOTSTRAP_ROLES.map((object) => ({ ...RBAC, plural: 'clusterroles', object })),
  ...BOOTSTRAP_ROLE_BINDINGS.map((object) => ({ ...RBAC, plural: 'clusterrolebindings', object })),
];

/** How pods find the API: always the first address of the network. */
const kubernetesService = (addresses: Range): SystemObject => ({
  group: '',
  version: 'v1',
  plural: 'services',
  namespace: 'default',
  object: {
    metadata: { name: 'kubernetes', labels: { component: 'apiserver', provider: 'kubernetes' } },
    spec: {
      clusterIP: addressText(addresses.first),
      ports: [{ name: 'https', port: 443, protocol: 'TCP', targetPort: 6443 }],
      sessionAffinity: 'None',
      type: 'ClusterIP',
    },
  },
});

/** Creates what every client expects to be there; what exists is left as it is. Several apiservers may do it at once. */
export async function ensureSystemObjects(handle: ApiHandler, clock: Clock, addresses: Range): Promise<void> {
  const ensureAll = async (objects: readonly SystemObject[]): Promise<void> => {
    const served = objects.filter(({ group, version, plural }) => findResource(group, version, plural) !== undefined);
    // Together, so that the store makes them durable in few commits.
    await Promise.all(served.map((wanted) => ensure(handle, clock, wanted)));
  };
  await ensureAll(NAMESPACES);
  await ensureAll([...CLUSTER_SCOPED, kubernetesService(addresses)]);
}

async function ensure(handle: ApiHandler, clock: Clock, wanted: SystemObject): Promise<void> {
  const path = pathOf(wanted);
  const { name } = wanted.object.metadata;
  for (let attempt = 1; ; attempt++) {
    if ((await send(handle, 'GET', `${path}/${name}`)).status === 200) return;
    const { status } = await send(handle, 'POST', path, wanted.object);
    if (status === 201 || status === 409) return;
    invariant(status >= 500 || status === 429, 'system objects are valid', { path, name, status });
    if (attempt === SYSTEM_OBJECT_ATTEMPTS_MAX) throw notCreated(name, status);
    await clock.sleep(SYSTEM_OBJECT_RETRY_MS);
  }
}

const notCreated = (name: string, status: number): OperatorError =>
  new OperatorError({
    code: 'SYSTEM_OBJECTS',
    message: `The system object "${name}" could not be created: the API answered ${status}.`,
    nextStep: 'Look at the health of the store, then start the apiserver again.',
  });

function pathOf({ group, version, plural, namespace }: SystemObject): string {
  const root = group === '' ? `/api/${version}` : `/apis/${group}/${version}`;
  return namespace === undefined ? `${root}/${plural}` : `${root}/namespaces/${namespace}/${plural}`;
}

function send(handle: ApiHandler, method: 'GET' | 'POST', path: string, body?: unknown): Promise<ApiResponse> {
  return handle({
    method,
    path,
    query: new URLSearchParams(),
    headers: { 'content-type': 'application/json', 'user-agent': 'kube-apiserver' },
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
  });
}
