import type { Container, Pod } from '@holdfast/api';
import type { ProcessUser, RuntimeAbilities } from '../runtime/port.ts';
import { ContainerConfigError } from './environment.ts';
import { chosenUser } from './pod-users.ts';
import { forbiddenSysctl } from './sandbox-isolation.ts';
import { USER_RANGE_LENGTH } from './user-ranges.ts';

/** The path of the service account token in every pod, unless it mounts another one. */
export const TOKEN_MOUNT_PATH = '/var/run/secrets/kubernetes.io/serviceaccount';

const ROOT = 0;

/** Why the whole pod cannot run here, whatever is tried; `undefined` when it can. */
export function sandboxRefusal(pod: Pod, abilities: RuntimeAbilities): string | undefined {
  const { spec } = pod;
  if (abilities.isolation === true) {
    const sysctl = forbiddenSysctl(pod);
    return sysctl === undefined ? undefined : `forbidden sysctl: ${JSON.stringify(sysctl)} not allowlisted`;
  }
  const { runtimeClassName } = spec;
  return runtimeClassName === undefined || runtimeClassName === ''
    ? undefined
    : `RuntimeClass ${JSON.stringify(runtimeClassName)} is not supported by the runtime of this node`;
}

/** Returns the user of the container; `undefined` leaves it to the runtime. Refuses what the runtime cannot do. */
export function containerUser(
  pod: Pod,
  container: Container,
  abilities: RuntimeAbilities,
  hasOwnUsers = false,
): ProcessUser | undefined {
  const { user } = abilities;
  if (user === 'any') {
    const chosen = chosenUser(pod, container, { abilities, hasOwnUsers });
    refuseRoot(pod, container, chosen.uid);
    return chosen;
  }
  const uid = container.securityContext?.runAsUser ?? pod.spec.securityContext?.runAsUser;
  const gid = container.securityContext?.runAsGroup ?? pod.spec.securityContext?.runAsGroup;
  refuseRoot(pod, container, uid ?? user.uid);
  const differs = (wanted: number | undefined, given: number): wanted is number =>
    wanted !== undefined && wanted !== given;
  if (differs(uid, user.uid)) throw new ContainerConfigError(cannotRunAs(container, `user ${uid}`, user.uid));
  if (differs(gid, user.gid)) throw new ContainerConfigError(cannotRunAs(container, `group ${gid}`, user.uid));
  return undefined;
}

function refuseRoot(pod: Pod, container: Container, uid: number): void {
  const nonRoot = container.securityContext?.runAsNonRoot ?? pod.spec.securityContext?.runAsNonRoot;
  if (nonRoot !== true || uid !== ROOT) return;
  const { name = '', namespace = '', uid: podUid = '' } = pod.metadata;
  const why =
    container.securityContext?.runAsUser === undefined && pod.spec.securityContext?.runAsUser === undefined
      ? 'container has runAsNonRoot and image will run as root'
      : "container's runAsUser breaks non-root policy";
  throw new ContainerConfigError(`${why} (pod: "${name}_${namespace}(${podUid})", container: ${container.name})`);
}

const cannotRunAs = ({ name }: Container, whom: string, uid: number): string =>
  `container "${name}" cannot run as ${whom}: this node does not run as root, every container runs as user ${uid}`;

/** USERNS-04: in a user namespace there are ids from 0 to 65535 and no others. */
export function refuseForeignIds(
  { spec }: Pod,
  { name, securityContext: own }: Container,
  hasOwnUsers = spec.hostUsers === false,
): void {
  if (!hasOwnUsers) return;
  const { runAsUser, runAsGroup, fsGroup, supplementalGroups: groups = [] } = spec.securityContext ?? {};
  const ids = [own?.runAsUser ?? runAsUser, own?.runAsGroup ?? runAsGroup, fsGroup, ...groups];
  const foreign = ids.find((id) => id !== undefined && id >= USER_RANGE_LENGTH);
  if (foreign === undefined) return;
  throw new ContainerConfigError(
    `container "${name}": id ${foreign} does not exist in the user namespace of the pod: ids go from 0 to ${USER_RANGE_LENGTH - 1}`,
  );
}

/**
 * Refuses volumes that would be missing at their paths. Variables name the directories of the service account token and
 * of `tickets`, the volumes of the storage server.
 */
export function refuseMounts(
  container: Container,
  abilities: RuntimeAbilities,
  tickets: ReadonlySet<string> = new Set(),
): void {
  const [device] = container.volumeDevices ?? [];
  if (device !== undefined && abilities.devices !== true) {
    throw new ContainerConfigError(
      `container "${container.name}": volume "${device.name}" is a block device, which this node cannot give to containers ` +
        '(it needs root, and the right to mount and to make device files): use a claim with volumeMode Filesystem, or another node',
    );
  }
  if (abilities.mounts) return;
  const mount = (container.volumeMounts ?? []).find(
    ({ name, mountPath }) => mountPath !== TOKEN_MOUNT_PATH && !tickets.has(name),
  );
  if (mount === undefined) return;
  throw new ContainerConfigError(
    `container "${container.name}": volume "${mount.name}" cannot be mounted at ${mount.mountPath}: ` +
      'this node is not permitted to mount (it needs root or unprivileged user namespaces)',
  );
}

/** Returns the requested settings that are not enforced: they are reported as an event, never ignored silently. */
export function notEnforced(
  pod: Pod,
  container: Container,
  abilities: RuntimeAbilities & { readonly watchesFiles?: boolean },
): readonly string[] {
  const asked = abilities.isolation === true ? [] : notIsolated(pod, container, abilities);
  const all = [...asked, ...notEnforcedForFiles(pod, abilities)];
  return abilities.watchesFiles === true ? all.filter((field) => !WATCHED_FILES.test(field)) : all;
}

/** A pod that exceeds these is evicted. */
const WATCHED_FILES = /emptyDir\.sizeLimit$|^resources\.limits\.ephemeral-storage$/;

const present = (asked: Readonly<Record<string, unknown>>): string[] =>
  Object.entries(asked).flatMap(([field, value]) => (value === undefined || value === false ? [] : [field]));

function notEnforcedForFiles({ spec }: Pod, { memoryVolumes, user }: RuntimeAbilities): readonly string[] {
  const isInMemory = (medium: string | undefined): boolean => medium === 'Memory' && memoryVolumes === true;
  return [
    ...present({ 'securityContext.fsGroup': user === 'any' ? undefined : spec.securityContext?.fsGroup }),
    ...(spec.volumes ?? []).flatMap(({ name, emptyDir }) =>
      present({
        [`volume ${name}: emptyDir.medium`]: emptyDir?.medium === 'Memory' && memoryVolumes !== true,
        [`volume ${name}: emptyDir.sizeLimit`]: isInMemory(emptyDir?.medium) ? undefined : emptyDir?.sizeLimit,
      }),
    ),
  ];
}

/** On the network of the machine a port is reached at its own number. In a network of pods TCP and UDP are led in. */
const needsMapping = ({ spec }: Pod, { ports = [] }: Container, { ownNetworks }: RuntimeAbilities): boolean =>
  spec.hostNetwork !== true &&
  ports.some(
    ({ hostPort = 0, containerPort, protocol = 'TCP' }) =>
      hostPort > 0 && (ownNetworks === true ? protocol === 'SCTP' : hostPort !== containerPort),
  );

/** Unenforced isolation of process pods. */
function notIsolated(pod: Pod, container: Container, abilities: RuntimeAbilities): readonly string[] {
  const { mounts, user, confines } = abilities;
  const own = container.securityContext;
  const shared = pod.spec.securityContext;
  return [
    ...Object.keys(container.resources.limits ?? {}).map((name) => `resources.limits.${name}`),
    ...present({
      'securityContext.allowPrivilegeEscalation=false': confines !== true && own?.allowPrivilegeEscalation === false,
      'securityContext.appArmorProfile': own?.appArmorProfile ?? shared?.appArmorProfile,
      // Users other than root have none, so dropping them is carried out.
      'securityContext.capabilities': confines === true ? own?.capabilities?.add : own?.capabilities,
      'securityContext.privileged': own?.privileged,
      'securityContext.readOnlyRootFilesystem': own?.readOnlyRootFilesystem,
      'securityContext.seLinuxOptions': own?.seLinuxOptions ?? shared?.seLinuxOptions,
      'securityContext.seccompProfile': own?.seccompProfile ?? shared?.seccompProfile,
      'securityContext.supplementalGroups': user === 'any' && mounts ? undefined : shared?.supplementalGroups,
      'securityContext.sysctls': shared?.sysctls,
      dnsConfig: mounts ? undefined : pod.spec.dnsConfig,
      'ports.hostPort': needsMapping(pod, container, abilities),
      hostAliases: mounts ? undefined : pod.spec.hostAliases,
      terminationMessagePath: !mounts && hasOwnMessagePath(container),
      'volumeMounts.mountPropagation': (container.volumeMounts ?? []).some(
        ({ mountPropagation = 'None' }) => mountPropagation !== 'None',
      ),
    }),
  ];
}

/** Every pod has the default path, so it shows no intent of the author. */
const hasOwnMessagePath = ({ terminationMessagePath: path }: Container): boolean =>
  path !== undefined && path !== '' && path !== '/dev/termination-log';
