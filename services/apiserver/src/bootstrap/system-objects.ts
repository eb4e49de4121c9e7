import {
  AUTOUPDATE_SPEC,
  BOOTSTRAP_FLOW_SCHEMAS,
  BOOTSTRAP_PRIORITY_LEVELS,
  type BootstrapObject,
  type ClusterRole,
  type ClusterRoleBinding,
  type ConfigMap,
  type FlowSchema,
  findResource,
  isDefaultStorageClass,
  type KubeObject,
  type PriorityLevelConfiguration,
  type StorageClass,
  upToDate,
} from '@holdfast/api';
import { type ApiHandler, type ApiResponse, type HttpMethod, statusErrorOf } from '@holdfast/client';
import { ownValue } from '@holdfast/machinery';
import { type Clock, invariant, OperatorError } from '@holdfast/platform';
import { REQUEST_HEADER_NAMES } from '../aggregation/identity-headers.ts';
import { addressText, type Range } from '../allocation/ranges.ts';
import { FRONT_PROXY_NAME } from '../authentication/identity.ts';
import { SYSTEM_OBJECT_ATTEMPTS_MAX, SYSTEM_OBJECT_RETRY_MS } from '../limits.ts';
import { LOCAL_API_SERVICES, reconciledApiService } from './api-services.ts';
import { hadDefaultClass, STANDARD_CLASS, withMark } from './default-storage-class.ts';
import { partWithOwnRules, reconciledBinding, reconciledRole } from './role-reconciliation.ts';
import type { BootstrapBinding, BootstrapRole } from './role-shapes.ts';
import { BOOTSTRAP_ROLE_BINDINGS, BOOTSTRAP_ROLES, NAMESPACED_ROLE_BINDINGS, NAMESPACED_ROLES } from './roles.ts';
import { ROLES_AND_PARTS } from './user-roles.ts';

interface SystemObject {
  readonly group: string;
  readonly version: string;
  readonly plural: string;
  readonly namespace?: string;
  readonly object: {
    readonly metadata: { readonly name: string; readonly labels?: object; readonly annotations?: object };
    readonly spec?: object;
    readonly data?: object;
  };
  /** The field manager of the write. */
  readonly fieldManager?: string;
  /** Returns the corrected existing object; absent: it is left unchanged. */
  readonly mend?: (stored: KubeObject) => Mended;
}

/** Nothing to do, a corrected object, or one that must be recreated. */
type Mended = KubeObject | 'another role' | undefined;

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

const roleObject = (plural: string, object: BootstrapRole, namespace?: string): SystemObject => ({
  ...RBAC,
  plural,
  object,
  ...(namespace === undefined ? {} : { namespace }),
  mend: (stored) => reconciledRole(stored as ClusterRole, object),
});

const bindingObject = (plural: string, object: BootstrapBinding, namespace?: string): SystemObject => ({
  ...RBAC,
  plural,
  object,
  ...(namespace === undefined ? {} : { namespace }),
  mend: (stored) => reconciledBinding(stored as ClusterRoleBinding, object),
});

const IN_NAMESPACES: readonly SystemObject[] = [
  ...[...NAMESPACED_ROLES].flatMap(([namespace, roles]) => roles.map((each) => roleObject('roles', each, namespace))),
  ...[...NAMESPACED_ROLE_BINDINGS].flatMap(([namespace, bindings]) =>
    bindings.map((each) => bindingObject('rolebindings', each, namespace)),
  ),
];

const CLUSTER_SCOPED: readonly SystemObject[] = [
  ...PRIORITY_CLASSES,
  ...BOOTSTRAP_ROLES.map((each) => roleObject('clusterroles', each)),
  ...BOOTSTRAP_ROLE_BINDINGS.map((each) => bindingObject('clusterrolebindings', each)),
];

/** The service by which pods find the API: always the first address of the network. */
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

const API_SERVICES: readonly SystemObject[] = LOCAL_API_SERVICES.map((object) => ({
  group: 'apiregistration.k8s.io',
  version: 'v1',
  plural: 'apiservices',
  object: { metadata: { name: object.metadata.name ?? '', labels: object.metadata.labels ?? {} }, spec: object.spec },
  mend: (stored) => reconciledApiService(stored, object),
}));

/** Publishes how the server authenticates clients: aggregated API servers use the same data. */
const clientAuthority = (facts: Readonly<Record<string, string>>): SystemObject => ({
  group: '',
  version: 'v1',
  plural: 'configmaps',
  namespace: 'kube-system',
  object: { metadata: { name: 'extension-apiserver-authentication' }, data: facts },
  mend: (stored) => {
    const { data = {} } = stored as ConfigMap;
    if (Object.entries(facts).every(([key, value]) => ownValue(data, key) === value)) return undefined;
    return { ...stored, data: { ...data, ...facts } } as KubeObject;
  },
});

function authorityFacts({ clientCa, frontProxyCa }: SystemFacts): Readonly<Record<string, string>> {
  return {
    ...(clientCa === undefined ? {} : { 'client-ca-file': clientCa }),
    ...(frontProxyCa === undefined
      ? {}
      : {
          'requestheader-allowed-names': JSON.stringify([FRONT_PROXY_NAME]),
          'requestheader-client-ca-file': frontProxyCa,
          ...REQUEST_HEADER_NAMES,
        }),
  };
}

const flowObject = (
  plural: string,
  wanted: BootstrapObject<object>,
  mend: (stored: KubeObject) => Mended,
): SystemObject => ({
  group: 'flowcontrol.apiserver.k8s.io',
  version: 'v1',
  plural,
  object: { metadata: { name: wanted.name, annotations: { [AUTOUPDATE_SPEC]: 'true' } }, spec: wanted.spec },
  fieldManager: 'api-priority-and-fairness-config-producer-v1',
  mend,
});

const FLOW_OBJECTS: readonly SystemObject[] = [
  ...BOOTSTRAP_PRIORITY_LEVELS.map((each) =>
    flowObject('prioritylevelconfigurations', each, (stored) => upToDate(stored as PriorityLevelConfiguration, each)),
  ),
  ...BOOTSTRAP_FLOW_SCHEMAS.map((each) =>
    flowObject('flowschemas', each, (stored) => upToDate(stored as FlowSchema, each)),
  ),
];

/** As in Kubernetes, deleted ones are created again. */
export const ensureFlowObjects = (handle: ApiHandler, clock: Clock): Promise<void> =>
  ensureAll(handle, clock, FLOW_OBJECTS);

const STORAGE_CLASS: SystemObject = {
  group: 'storage.k8s.io',
  version: 'v1',
  plural: 'storageclasses',
  object: STANDARD_CLASS,
};

const MARKED_NAMESPACE: SystemObject = {
  group: '',
  version: 'v1',
  plural: 'namespaces',
  object: { metadata: { name: 'kube-system' } },
  mend: withMark,
};

/** Once in the life of a cluster, and not where a user has made a default class before. */
async function ensureDefaultClass(handle: ApiHandler, clock: Clock): Promise<void> {
  const namespace = await readServed(handle, clock, { wanted: MARKED_NAMESPACE, path: ownPath(MARKED_NAMESPACE) });
  if (hadDefaultClass(objectOf(namespace))) return;
  const list = await readServed(handle, clock, { wanted: STORAGE_CLASS, path: pathOf(STORAGE_CLASS) });
  const { items } = objectOf(list) as KubeObject & { readonly items: readonly StorageClass[] };
  if (!items.some(isDefaultStorageClass)) await ensure(handle, clock, STORAGE_CLASS);
  await ensure(handle, clock, MARKED_NAMESPACE);
}

async function readServed(
  handle: ApiHandler,
  clock: Clock,
  { wanted, path }: { readonly wanted: SystemObject; readonly path: string },
): Promise<ApiResponse> {
  for (let attempt = 1; ; attempt++) {
    const answer = await send(handle, 'GET', path);
    if (answer.status === 200) return answer;
    await beforeNext(clock, wanted, { attempt, answer });
  }
}

export interface SystemFacts {
  readonly addresses: Range;
  /** PEM of the authority that signs client certificates; absent where none are taken. */
  readonly clientCa?: string | undefined;
  /** PEM of the authority that signs the certificates by which servers behind this one know it. */
  readonly frontProxyCa?: string | undefined;
  /** True when a new cluster gets a default storage class. */
  readonly defaultStorageClass?: boolean | undefined;
}

/**
 * Creates the objects that clients expect; existing ones are kept, except that roles and bindings are completed.
 * Several API servers may do it concurrently.
 */
export async function ensureSystemObjects(handle: ApiHandler, clock: Clock, facts: SystemFacts): Promise<void> {
  await ensureAll(handle, clock, NAMESPACES);
  await Promise.all(ROLES_AND_PARTS.map(([role, part]) => keepOwnRules(handle, clock, role, part)));
  const authorities = authorityFacts(facts);
  const authority = Object.keys(authorities).length === 0 ? [] : [clientAuthority(authorities)];
  const kubernetes = kubernetesService(facts.addresses);
  const rest = [...CLUSTER_SCOPED, ...API_SERVICES, ...IN_NAMESPACES, ...FLOW_OBJECTS, kubernetes, ...authority];
  await ensureAll(handle, clock, rest);
  if (facts.defaultStorageClass === true) await ensureDefaultClass(handle, clock);
}

async function ensureAll(handle: ApiHandler, clock: Clock, objects: readonly SystemObject[]): Promise<void> {
  const served = objects.filter(({ group, version, plural }) => findResource(group, version, plural) !== undefined);
  // Together, so that the store makes them durable in few commits.
  await Promise.all(served.map((wanted) => ensure(handle, clock, wanted)));
}

/** Before the role consists of others: only then it is known what is its own. */
async function keepOwnRules(
  handle: ApiHandler,
  clock: Clock,
  ...[role, part]: readonly [BootstrapRole, BootstrapRole]
): Promise<void> {
  const wanted = roleObject('clusterroles', role);
  for (let attempt = 1; ; attempt++) {
    const answer = await send(handle, 'GET', `${pathOf(wanted)}/${role.metadata.name}`);
    if (answer.status === 404) return;
    if (answer.status === 200) {
      const fuller = partWithOwnRules(objectOf(answer) as ClusterRole, role, part);
      if (fuller !== undefined) await ensure(handle, clock, roleObject('clusterroles', fuller));
      return;
    }
    await beforeNext(clock, wanted, { attempt, answer });
  }
}

async function ensure(handle: ApiHandler, clock: Clock, wanted: SystemObject): Promise<void> {
  const path = pathOf(wanted);
  const { name } = wanted.object.metadata;
  for (let attempt = 1; ; attempt++) {
    const found = await send(handle, 'GET', `${path}/${name}`);
    const mended = found.status === 200 ? wanted.mend?.(objectOf(found)) : 'absent';
    if (mended === undefined) return;
    const answer = await write(handle, path, { mended, wanted });
    const { status } = answer;
    // Another server was faster with the same object. The state of an unreadable one is unknown.
    if (status === 200 || status === 201 || (status === 409 && found.status === 404)) return;
    // A quota of the namespace is exhausted: its owner wants no more roles there.
    if (status === 403 && wanted.mend !== undefined) return;
    await beforeNext(clock, wanted, { attempt, answer });
  }
}

async function beforeNext(
  clock: Clock,
  wanted: SystemObject,
  { attempt, answer }: { readonly attempt: number; readonly answer: ApiResponse },
): Promise<void> {
  const { status } = answer;
  const { name } = wanted.object.metadata;
  invariant(status >= 500 || RETRIED.has(status), 'system objects are valid', { path: pathOf(wanted), name, status });
  if (attempt === SYSTEM_OBJECT_ATTEMPTS_MAX) throw notCreated(name, answer);
  await clock.sleep(SYSTEM_OBJECT_RETRY_MS);
}

/** Too many requests, or changed since it was read. */
const RETRIED: ReadonlySet<number> = new Set([404, 409, 429]);

interface Write {
  readonly wanted: SystemObject;
  readonly mended: Exclude<Mended, undefined> | 'absent';
}

/** The answer that counts. */
async function write(handle: ApiHandler, path: string, { wanted, mended }: Write): Promise<ApiResponse> {
  const own = ownPath(wanted);
  const { fieldManager } = wanted;
  if (typeof mended === 'object') return send(handle, 'PUT', own, { body: mended, fieldManager });
  if (mended === 'another role') await send(handle, 'DELETE', own);
  return send(handle, 'POST', path, { body: wanted.object, fieldManager });
}

/** Returns the object in our API server's GET response. */
function objectOf({ body }: ApiResponse): KubeObject {
  invariant(body.kind === 'json', 'an object is answered as JSON');
  return body.value() as KubeObject;
}

const notCreated = (name: string, answer: ApiResponse): OperatorError =>
  new OperatorError({
    code: 'SYSTEM_OBJECTS',
    message: `The system object "${name}" could not be created: the API answered ${answer.status}: ${statusErrorOf(answer).message}`,
    nextStep: 'Correct the cause, then start again.',
  });

const ownPath = (wanted: SystemObject): string => `${pathOf(wanted)}/${wanted.object.metadata.name}`;

function pathOf({ group, version, plural, namespace }: SystemObject): string {
  const root = group === '' ? `/api/${version}` : `/apis/${group}/${version}`;
  return namespace === undefined ? `${root}/${plural}` : `${root}/namespaces/${namespace}/${plural}`;
}

interface Sent {
  readonly body?: unknown;
  readonly fieldManager?: string | undefined;
}

function send(
  handle: ApiHandler,
  method: HttpMethod,
  path: string,
  { body, fieldManager }: Sent = {},
): Promise<ApiResponse> {
  return handle({
    method,
    path,
    query: new URLSearchParams(fieldManager === undefined ? {} : { fieldManager }),
    headers: { 'content-type': 'application/json', 'user-agent': 'kube-apiserver' },
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
  });
}
