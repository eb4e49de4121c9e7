import { join } from 'node:path';
import type { MessageInitShape } from '@bufbuild/protobuf';
import type { UserRange } from '../../domain/user-ranges.ts';
import type { ContainerConfig, Mount, SandboxConfig } from '../port.ts';
import type { ContainerResources, ContainerSecurity, SandboxIsolation, SecurityProfile } from '../port-isolation.ts';
import {
  type ContainerConfigSchema,
  type LinuxContainerResourcesSchema,
  type LinuxContainerSecurityContextSchema,
  MountPropagation,
  type MountSchema,
  NamespaceMode,
  type NamespaceOptionSchema,
  type PodSandboxConfigSchema,
  Protocol,
  SecurityProfile_ProfileType,
  type SecurityProfileSchema,
  type UserNamespaceSchema,
} from './generated/cri_pb.js';
import { containerAnnotations, containerLabels, sandboxAnnotations, sandboxLabels } from './labels.ts';

export interface NodePlace {
  readonly node: string;
  /** The directory for `Localhost` profiles. */
  readonly seccompRoot: string;
}

export interface SandboxPlace extends NodePlace {
  readonly logDirectory: string;
}

type SandboxRequest = MessageInitShape<typeof PodSandboxConfigSchema>;
type ContainerRequest = MessageInitShape<typeof ContainerConfigSchema>;

/** The same for the same pod at any time: it is given again with every container. */
export function sandboxRequest(config: SandboxConfig, place: SandboxPlace): SandboxRequest {
  const { podName: name, podNamespace: namespace, podUid: uid, attempt, isolation } = config;
  return {
    metadata: { name, namespace, uid, attempt },
    // A pod on the network of the machine has its name, too.
    hostname: isolation?.namespaces.network === 'node' ? '' : config.hostname,
    logDirectory: place.logDirectory,
    labels: sandboxLabels(place.node, config),
    annotations: sandboxAnnotations(config),
    portMappings: (isolation?.ports ?? []).map((port) => ({ ...port, protocol: Protocol[port.protocol] })),
    ...linuxSandbox(config, place),
  };
}

function linuxSandbox(config: SandboxConfig, place: NodePlace): Pick<SandboxRequest, 'linux'> {
  const { isolation, cgroupParent } = config;
  if (isolation === undefined && cgroupParent === undefined) return {};
  return {
    linux: {
      ...(cgroupParent === undefined ? {} : { cgroupParent }),
      ...(isolation === undefined ? {} : isolatedSandbox(config, isolation, place)),
    },
  };
}

function isolatedSandbox(
  config: SandboxConfig,
  isolation: SandboxIsolation,
  { seccompRoot }: NodePlace,
): NonNullable<SandboxRequest['linux']> {
  const { privileged, user, group, supplementalGroups, seccomp, sysctls } = isolation;
  return {
    sysctls: { ...sysctls },
    securityContext: {
      namespaceOptions: namespaceOptions(config, undefined),
      privileged,
      supplementalGroups: supplementalGroups.map(BigInt),
      ...(user === undefined ? {} : { runAsUser: { value: BigInt(user) } }),
      ...(user === undefined || group === undefined ? {} : { runAsGroup: { value: BigInt(group) } }),
      ...(seccomp === undefined ? {} : { seccomp: profile(seccomp, seccompRoot) }),
    },
  };
}

export interface ContainerPlace extends NodePlace {
  /** Relative to the directory of the sandbox's logs. */
  readonly logPath: string;
}

export function containerRequest(
  config: ContainerConfig,
  sandbox: SandboxConfig,
  place: ContainerPlace,
): ContainerRequest {
  const { name, image, restartCount: attempt } = config;
  return {
    metadata: { name, attempt },
    image: { image: config.imageId ?? image, userSpecifiedImage: image },
    command: [...config.command],
    args: [...config.args],
    workingDir: config.workingDir ?? '',
    envs: Object.entries(config.env).map(([key, value]) => ({ key, value })),
    mounts: mounts(config.mounts ?? [], sandbox.userRange),
    devices: (config.devices ?? []).map(({ source, target, readOnly }) => ({
      hostPath: source,
      containerPath: target,
      permissions: readOnly ? 'r' : 'mrw',
    })),
    labels: containerLabels(place.node, sandbox, name),
    annotations: containerAnnotations(image, config.stdin === true),
    logPath: place.logPath,
    stdin: config.stdin === true,
    stdinOnce: config.stdinOnce === true,
    tty: config.tty === true,
    linux: linuxContainer(config, sandbox, place),
  };
}

const PROPAGATIONS = {
  HostToContainer: MountPropagation.PROPAGATION_HOST_TO_CONTAINER,
  Bidirectional: MountPropagation.PROPAGATION_BIDIRECTIONAL,
};

function mounts(
  wanted: readonly Mount[],
  userRange: SandboxConfig['userRange'],
): MessageInitShape<typeof MountSchema>[] {
  const ids = userRange === undefined ? {} : { uidMappings: idMappings(userRange), gidMappings: idMappings(userRange) };
  return wanted.map(({ source, target, readOnly, propagation }) => ({
    hostPath: source,
    containerPath: target,
    readonly: readOnly,
    ...ids,
    ...(propagation === undefined ? {} : { propagation: PROPAGATIONS[propagation] }),
  }));
}

function linuxContainer(
  { isolation, user }: ContainerConfig,
  sandbox: SandboxConfig,
  place: NodePlace,
): NonNullable<ContainerRequest['linux']> {
  if (isolation !== undefined) {
    return {
      resources: resourcesRequest(isolation.resources),
      securityContext: security(isolation.security, sandbox, place),
    };
  }
  if (user === undefined) return {};
  return { securityContext: { runAsUser: { value: BigInt(user.uid) }, runAsGroup: { value: BigInt(user.gid) } } };
}

export function resourcesRequest(
  resources: ContainerResources,
): MessageInitShape<typeof LinuxContainerResourcesSchema> {
  const { cpuShares, cpuQuota = 0, cpuPeriod = 0, memoryLimitBytes = 0, oomScoreAdjust, hugepages = [] } = resources;
  return {
    cpuShares: BigInt(cpuShares),
    cpuQuota: BigInt(cpuQuota),
    cpuPeriod: BigInt(cpuPeriod),
    memoryLimitInBytes: BigInt(memoryLimitBytes),
    // No swap beyond the memory.
    memorySwapLimitInBytes: BigInt(memoryLimitBytes),
    oomScoreAdj: BigInt(oomScoreAdjust),
    hugepageLimits: hugepages.map(({ pageSize, limitBytes }) => ({ pageSize, limit: BigInt(limitBytes) })),
  };
}

function security(
  wanted: ContainerSecurity,
  sandbox: SandboxConfig,
  { seccompRoot }: NodePlace,
): MessageInitShape<typeof LinuxContainerSecurityContextSchema> {
  const { user, userName = '', group, seccomp, apparmor, seLinux, unmasked } = wanted;
  return {
    privileged: wanted.privileged,
    capabilities: { addCapabilities: [...wanted.addCapabilities], dropCapabilities: [...wanted.dropCapabilities] },
    namespaceOptions: namespaceOptions(sandbox, wanted.processesOf),
    supplementalGroups: wanted.supplementalGroups.map(BigInt),
    readonlyRootfs: wanted.readOnlyRoot,
    noNewPrivs: wanted.noNewPrivileges,
    runAsUsername: user === undefined ? userName : '',
    maskedPaths: unmasked ? [] : MASKED_PATHS,
    readonlyPaths: unmasked ? [] : READONLY_PATHS,
    ...(user === undefined ? {} : { runAsUser: { value: BigInt(user) } }),
    ...(group === undefined ? {} : { runAsGroup: { value: BigInt(group) } }),
    ...(seccomp === undefined ? {} : { seccomp: profile(seccomp, seccompRoot) }),
    ...(apparmor === undefined ? {} : { apparmor: profile(apparmor) }),
    ...(seLinux === undefined ? {} : { selinuxOptions: seLinux }),
  };
}

/** Kernel paths that Kubernetes hides in every container without `procMount: Unmasked`. */
const MASKED_PATHS = [
  '/proc/asound',
  '/proc/acpi',
  '/proc/kcore',
  '/proc/keys',
  '/proc/latency_stats',
  '/proc/timer_list',
  '/proc/timer_stats',
  '/proc/sched_debug',
  '/proc/scsi',
  '/sys/firmware',
  '/sys/devices/virtual/powercap',
];
const READONLY_PATHS = ['/proc/bus', '/proc/fs', '/proc/irq', '/proc/sys', '/proc/sysrq-trigger'];

const NETWORK_AND_IPC = { pod: NamespaceMode.POD, node: NamespaceMode.NODE };
const PROCESSES = { ...NETWORK_AND_IPC, container: NamespaceMode.CONTAINER };

function namespaceOptions(
  { isolation, userRange }: SandboxConfig,
  processesOf: string | undefined,
): MessageInitShape<typeof NamespaceOptionSchema> {
  const { network, ipc, pid } = isolation?.namespaces ?? { network: 'pod', ipc: 'pod', pid: 'pod' };
  const users = userRange === undefined ? {} : { usernsOptions: userNamespace(userRange) };
  const shared = { network: NETWORK_AND_IPC[network], ipc: NETWORK_AND_IPC[ipc], ...users };
  if (processesOf !== undefined) return { ...shared, pid: NamespaceMode.TARGET, targetId: processesOf };
  return { ...shared, pid: PROCESSES[pid] };
}

const idMappings = ({ firstId, length }: UserRange) => [{ hostId: firstId, containerId: 0, length }];

const userNamespace = (range: UserRange): MessageInitShape<typeof UserNamespaceSchema> => ({
  mode: NamespaceMode.POD,
  uids: idMappings(range),
  gids: idMappings(range),
});

/** A profile of the node is a file (seccomp) or a name (AppArmor). */
function profile({ type, reference }: SecurityProfile, root?: string): MessageInitShape<typeof SecurityProfileSchema> {
  const localhostRef = type !== 'Localhost' ? '' : root === undefined ? reference : join(root, reference);
  return { profileType: SecurityProfile_ProfileType[type], localhostRef };
}
