import {
  type Container,
  type Pod,
  type PodSpec,
  SERVICE_ACCOUNTS,
  type ServiceAccount,
  type Volume,
} from '@holdfast/api';
import { forbiddenError } from '@holdfast/machinery';
import { decodePod } from '../decode.ts';
import { type AdmissionDeps, type AdmissionPlugin, type AdmissionRequest, isCore, subjectOfRequest } from '../port.ts';

const DEFAULT_ACCOUNT = 'default';
const MIRROR_ANNOTATION = 'kubernetes.io/config.mirror';
const TOKEN_MOUNT_PATH = '/var/run/secrets/kubernetes.io/serviceaccount';
/** Seconds; a kubelet renews at 80 %, and an hour of the old token is left when it is late. */
const TOKEN_SECONDS = 3_607;
const FILE_MODE = 0o644;
const SUFFIX_CHARS = 5;

/** Every pod acts as a service account, and finds a token of it where clients look for one. */
export const createServiceAccount = (deps: AdmissionDeps): AdmissionPlugin => ({
  name: 'ServiceAccount',
  handles: (request) =>
    deps.serviceAccounts === 'mounted' &&
    isCore(request, 'pods') &&
    request.operation === 'CREATE' &&
    request.subresource === '',
  admit: (request) =>
    request.object === undefined ? undefined : giveAccount(deps, request, decodePod(request.object)),
});

function giveAccount(deps: AdmissionDeps, request: AdmissionRequest, pod: Pod): Promise<void> | undefined {
  const { spec } = pod;
  if (spec === undefined || pod.metadata.annotations?.[MIRROR_ANNOTATION] !== undefined) return undefined;
  spec.serviceAccountName = spec.serviceAccountName || DEFAULT_ACCOUNT;
  spec.serviceAccount = spec.serviceAccountName;
  const target = { namespace: request.namespace, name: spec.serviceAccountName };
  const known = deps.reader.cached(SERVICE_ACCOUNTS, target);
  if (known === undefined)
    return findAccount(deps, request, target.name).then((account) => useAccount(deps, spec, account));
  useAccount(deps, spec, known);
  return undefined;
}

function useAccount(deps: AdmissionDeps, spec: PodSpec, account: ServiceAccount | undefined): void {
  if (spec.automountServiceAccountToken ?? account?.automountServiceAccountToken ?? true) {
    mountToken(spec, `kube-api-access-${deps.ids.suffix(SUFFIX_CHARS)}`);
  }
  const secrets = account?.imagePullSecrets ?? [];
  if ((spec.imagePullSecrets ?? []).length === 0 && secrets.length > 0) {
    spec.imagePullSecrets = secrets.map(({ name }) => (name === undefined ? {} : { name }));
  }
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
        { serviceAccountToken: { expirationSeconds: TOKEN_SECONDS, path: 'token' } },
        { configMap: { name: 'kube-root-ca.crt', items: [{ key: 'ca.crt', path: 'ca.crt' }] } },
        { downwardAPI: { items: [namespace] } },
      ],
      defaultMode: FILE_MODE,
    },
  };
}
