import {
  type Container,
  isMirrorPod,
  MOUNTABLE_SECRETS_ANNOTATION,
  type Pod,
  type PodSpec,
  SERVICE_ACCOUNTS,
  type ServiceAccount,
  type Volume,
} from '@holdfast/api';
import { forbiddenError } from '@holdfast/machinery';
import { POD_TOKEN_SECONDS } from '../../limits.ts';
import { ephemeralUses, projectsToken, referenceOf, type SecretUse, secretUses } from '../pod-references.ts';
import { type AdmissionDeps, type AdmissionPlugin, type AdmissionRequest, isCore, subjectOfRequest } from '../port.ts';
import { asPod } from '../typed-objects.ts';

const DEFAULT_ACCOUNT = 'default';
/** Go's values of true. */
const TRUE: ReadonlySet<string> = new Set(['1', 't', 'T', 'true', 'TRUE', 'True']);
const TOKEN_MOUNT_PATH = '/var/run/secrets/kubernetes.io/serviceaccount';
const FILE_MODE = 0o644;
const SUFFIX_CHARS = 5;

/** Every pod acts as a service account, and finds a token of it where clients look for one. */
export const createServiceAccount = (deps: AdmissionDeps): AdmissionPlugin => ({
  name: 'ServiceAccount',
  handles: (request) =>
    deps.serviceAccounts === 'mounted' &&
    isCore(request, 'pods') &&
    ((request.operation === 'CREATE' && request.subresource === '') || addsContainers(request)),
  admit: (request) => {
    if (request.object === undefined) return undefined;
    const pod = asPod(request.object);
    return addsContainers(request) ? judgeAdded(deps, request, pod) : giveAccount(deps, request, pod);
  },
});

const addsContainers = ({ operation, subresource }: AdmissionRequest): boolean =>
  operation === 'UPDATE' && subresource === 'ephemeralcontainers';

/** Containers that come later use no other secrets than those that came with the pod. */
async function judgeAdded(deps: AdmissionDeps, request: AdmissionRequest, pod: Pod): Promise<void> {
  const name = asPod(request.old ?? pod).spec.serviceAccountName ?? '';
  const uses = ephemeralUses(pod);
  if (name === '' || uses.length === 0) return;
  const account = await findAccount(deps, request, name);
  if (account !== undefined) refuseOtherSecrets(request, uses, account);
}

function giveAccount(deps: AdmissionDeps, request: AdmissionRequest, pod: Pod): Promise<void> | undefined {
  const { spec } = pod;
  if (spec === undefined) return undefined;
  if (isMirrorPod(pod)) {
    refuseReferences(request, pod);
    return undefined;
  }
  spec.serviceAccountName = spec.serviceAccountName || DEFAULT_ACCOUNT;
  spec.serviceAccount = spec.serviceAccountName;
  const target = { namespace: request.namespace, name: spec.serviceAccountName };
  const known = deps.reader.cached(SERVICE_ACCOUNTS, target);
  if (known === undefined)
    return findAccount(deps, request, target.name).then((account) => useAccount(deps, request, pod, account));
  useAccount(deps, request, pod, known);
  return undefined;
}

/** A static pod cannot refer to objects of the cluster. */
function refuseReferences(request: AdmissionRequest, pod: Pod): void {
  const refuse = (what: string): Error => forbiddenError(subjectOfRequest(request), `a mirror pod may not ${what}`);
  if ((pod.spec.serviceAccountName ?? '') !== '') throw refuse('reference service accounts');
  const reference = referenceOf(pod);
  if (reference !== undefined) throw refuse(`reference ${reference}`);
  if (projectsToken(pod)) throw refuse('use ServiceAccountToken volume projections');
}

function useAccount(
  deps: AdmissionDeps,
  request: AdmissionRequest,
  ...[pod, account]: readonly [Pod, ServiceAccount | undefined]
): void {
  const { spec } = pod;
  if (account?.metadata.annotations?.[MOUNTABLE_SECRETS_ANNOTATION] !== undefined) {
    refuseOtherSecrets(request, secretUses(pod), account);
  }
  if (spec.automountServiceAccountToken ?? account?.automountServiceAccountToken ?? true) {
    mountToken(spec, `kube-api-access-${deps.ids.suffix(SUFFIX_CHARS)}`);
  }
  const secrets = account?.imagePullSecrets ?? [];
  if ((spec.imagePullSecrets ?? []).length === 0 && secrets.length > 0) {
    spec.imagePullSecrets = secrets.map(({ name }) => (name === undefined ? {} : { name }));
  }
}

/** An account may say that its pods use no secrets but those it names. */
function refuseOtherSecrets(request: AdmissionRequest, uses: readonly SecretUse[], account: ServiceAccount): void {
  const { annotations, name = '' } = account.metadata;
  if (!TRUE.has(annotations?.[MOUNTABLE_SECRETS_ANNOTATION] ?? '')) return;
  const own = new Set((account.secrets ?? []).map((each) => each.name));
  const pulls = new Set((account.imagePullSecrets ?? []).map((each) => each.name));
  let pull = -1;
  for (const use of uses) {
    if (use.kind === 'pull') pull += 1;
    if ((use.kind === 'pull' ? pulls : own).has(use.name)) continue;
    const end = `is not allowed because service account ${name} does not reference that`;
    const why =
      use.kind === 'pull'
        ? `imagePullSecrets[${pull}].name="${use.name}" ${end} imagePullSecret`
        : `${placeOf(use)} ${end} secret`;
    throw forbiddenError(subjectOfRequest(request), why);
  }
}

function placeOf({ kind, name, container, variable }: SecretUse): string {
  if (kind === 'volume') return `volume with secret.secretName="${name}"`;
  const what = variable === '' ? 'envFrom' : `envVar ${variable}`;
  return `${kind} ${container} with ${what} referencing secret.secretName="${name}"`;
}

/** A namespace's default account follows the namespace in a moment; a pod need not wait for it, its token will. */
async function findAccount(
  deps: AdmissionDeps,
  request: AdmissionRequest,
  name: string,
): Promise<ServiceAccount | undefined> {
  const account = await deps.reader.fresh(SERVICE_ACCOUNTS, { namespace: request.namespace, name });
  if (account !== undefined || name === DEFAULT_ACCOUNT) return account;
  throw forbiddenError(
    subjectOfRequest(request),
    `error looking up service account ${request.namespace}/${name}: serviceaccount ${JSON.stringify(name)} not found`,
  );
}

function mountToken(spec: PodSpec, volumeName: string): void {
  const containers = [...(spec.initContainers ?? []), ...spec.containers].filter((each) => !hasTokenMount(each));
  if (containers.length === 0) return;
  spec.volumes = [...(spec.volumes ?? []), tokenVolume(volumeName)];
  for (const container of containers) {
    container.volumeMounts = [
      ...(container.volumeMounts ?? []),
      { name: volumeName, readOnly: true, mountPath: TOKEN_MOUNT_PATH },
    ];
  }
}

const hasTokenMount = (container: Container): boolean =>
  (container.volumeMounts ?? []).some((mount) => mount.mountPath === TOKEN_MOUNT_PATH);

function tokenVolume(name: string): Volume {
  const namespace = { path: 'namespace', fieldRef: { apiVersion: 'v1', fieldPath: 'metadata.namespace' } };
  return {
    name,
    projected: {
      sources: [
        { serviceAccountToken: { expirationSeconds: POD_TOKEN_SECONDS, path: 'token' } },
        { configMap: { name: 'kube-root-ca.crt', items: [{ key: 'ca.crt', path: 'ca.crt' }] } },
        { downwardAPI: { items: [namespace] } },
      ],
      defaultMode: FILE_MODE,
    },
  };
}
