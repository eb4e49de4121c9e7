import type { ContainerConfig, DeviceUse, Mount, SandboxConfig, SandboxIdentity } from '../port.ts';
import type { ContainerResources, ContainerSecurity, PortMapping, SecurityProfile } from '../port-isolation.ts';
import { containerLabels, type Labels, type Owner, type StoredSandbox, sandboxLabels } from './labels.ts';
import { ENGINE_LOG_FILES_MAX, ENGINE_LOG_MAX_SIZE } from './limits.ts';

/** The body of `POST /containers/create`, as far as it is used. */
export interface CreateRequest {
  readonly Image: string;
  readonly Labels: Labels;
  readonly Hostname?: string;
  readonly User?: string;
  readonly Env?: readonly string[];
  readonly Entrypoint?: readonly string[];
  readonly Cmd?: readonly string[];
  readonly WorkingDir?: string;
  readonly Tty?: boolean;
  readonly OpenStdin?: boolean;
  readonly StdinOnce?: boolean;
  readonly ExposedPorts?: Readonly<Record<string, object>>;
  readonly Healthcheck: { readonly Test: readonly string[] };
  readonly HostConfig: HostConfig;
}

interface HostConfig {
  readonly NetworkMode: string;
  readonly PidMode: string;
  readonly IpcMode: string;
  readonly UTSMode?: string;
  readonly LogConfig: { readonly Type: string; readonly Config: Readonly<Record<string, string>> };
  readonly Mounts?: readonly object[];
  readonly Devices?: readonly object[];
  readonly GroupAdd?: readonly string[];
  readonly PortBindings?: Readonly<Record<string, readonly object[]>>;
  readonly Sysctls?: Readonly<Record<string, string>>;
  readonly Privileged?: boolean;
  readonly ReadonlyRootfs?: boolean;
  readonly CapAdd?: readonly string[];
  readonly CapDrop?: readonly string[];
  readonly SecurityOpt?: readonly string[];
  readonly MaskedPaths?: readonly string[];
  readonly ReadonlyPaths?: readonly string[];
  readonly CpuShares?: number;
  readonly CpuQuota?: number;
  readonly CpuPeriod?: number;
  readonly Memory?: number;
  readonly MemorySwap?: number;
  readonly OomScoreAdj?: number;
  readonly Runtime?: string;
  readonly CgroupParent?: string;
}

export interface RequestPlace {
  readonly owner: Owner;
  /** The text of a seccomp profile that lies on this node. */
  readonly seccompProfile: (reference: string) => string;
  /** The engine cannot protect a process better than this. */
  readonly oomScoreMin: number;
  readonly isPodman?: boolean;
}

/** The log goes to a file of the node; the engine keeps the last part until then. */
const LOGS = { Type: 'json-file', Config: { 'max-size': ENGINE_LOG_MAX_SIZE, 'max-file': ENGINE_LOG_FILES_MAX } };
/** The kubelet probes. */
const NO_HEALTH_CHECK = { Test: ['NONE'] };
const SANDBOX_SHARES = 2;
const SANDBOX_OOM_SCORE = -998;

export function sandboxRequest(
  config: SandboxConfig,
  image: string,
  { owner, oomScoreMin }: RequestPlace,
): CreateRequest {
  const { isolation, hostname } = config;
  const { network, ipc, pid } = isolation?.namespaces ?? POD_NAMESPACES;
  const ports = isolation?.ports ?? [];
  const handler = isolation?.handler ?? '';
  return {
    Image: image,
    Labels: sandboxLabels(owner, config),
    // A pod on the network of the machine has its name, too.
    ...(network === 'node' ? {} : { Hostname: hostname }),
    ...(ports.length === 0 ? {} : { ExposedPorts: Object.fromEntries(ports.map((port) => [portKey(port), {}])) }),
    Healthcheck: NO_HEALTH_CHECK,
    HostConfig: {
      NetworkMode: network === 'node' ? 'host' : 'bridge',
      PidMode: pid === 'node' ? 'host' : '',
      IpcMode: ipc === 'node' ? 'host' : 'shareable',
      LogConfig: LOGS,
      CpuShares: SANDBOX_SHARES,
      OomScoreAdj: Math.max(SANDBOX_OOM_SCORE, oomScoreMin),
      SecurityOpt: ['no-new-privileges'],
      ...(ports.length === 0 ? {} : { PortBindings: portBindings(ports) }),
      ...(isolation === undefined ? {} : { Sysctls: isolation.sysctls }),
      ...(handler === '' ? {} : { Runtime: handler }),
      ...parentOf(config),
    },
  };
}

const parentOf = ({ cgroupParent }: SandboxIdentity): Pick<HostConfig, 'CgroupParent'> =>
  cgroupParent === undefined ? {} : { CgroupParent: cgroupParent };

const POD_NAMESPACES = { network: 'pod', ipc: 'pod', pid: 'pod' } as const;

const portKey = ({ containerPort, protocol }: PortMapping): string => `${containerPort}/${protocol.toLowerCase()}`;

function portBindings(ports: readonly PortMapping[]): Record<string, readonly object[]> {
  const bindings = new Map<string, object[]>();
  for (const port of ports) {
    const binding = { HostIp: port.hostIp, HostPort: String(port.hostPort) };
    const key = portKey(port);
    bindings.set(key, [...(bindings.get(key) ?? []), binding]);
  }
  return Object.fromEntries(bindings);
}

export interface SandboxRef {
  readonly id: string;
  readonly sandbox: StoredSandbox;
}

export function containerRequest(config: ContainerConfig, of: SandboxRef, place: RequestPlace): CreateRequest {
  const { command, args, workingDir, env, isolation } = config;
  return {
    Image: config.imageId ?? config.image,
    Labels: containerLabels(place.owner, of, config),
    Env: Object.entries(env).map(([key, value]) => `${key}=${value}`),
    ...(command.length === 0 ? {} : { Entrypoint: command }),
    ...(args.length === 0 ? {} : { Cmd: args }),
    ...(workingDir === undefined ? {} : { WorkingDir: workingDir }),
    ...userOf(config),
    Tty: config.tty === true,
    OpenStdin: config.stdin === true,
    StdinOnce: config.stdinOnce === true,
    Healthcheck: NO_HEALTH_CHECK,
    HostConfig: {
      ...namespaceModes(of, isolation?.security.processesOf),
      ...nameMode(of, place),
      ...parentOf(of.sandbox),
      LogConfig: LOGS,
      Mounts: (config.mounts ?? []).map(mountOf),
      ...(config.devices === undefined ? {} : { Devices: config.devices.map(deviceOf) }),
      ...(config.user?.groups === undefined ? {} : { GroupAdd: config.user.groups.map(String) }),
      ...(isolation === undefined
        ? {}
        : { ...resourcesOf(isolation.resources, place), ...securityOf(isolation.security, place) }),
    },
  };
}

function namespaceModes(
  { id, sandbox }: SandboxRef,
  processesOf: string | undefined,
): Pick<HostConfig, 'NetworkMode' | 'PidMode' | 'IpcMode'> {
  const { ipc, pid } = sandbox.namespaces ?? POD_NAMESPACES;
  const joined = `container:${id}`;
  const processes = { pod: joined, container: '', node: 'host' }[pid];
  return {
    NetworkMode: joined,
    IpcMode: ipc === 'node' ? 'host' : joined,
    PidMode: processesOf === undefined ? processes : `container:${processesOf}`,
  };
}

/** With Docker the name of the machine comes with the network, and cannot be asked for; Podman must be asked. */
const nameMode = ({ id }: SandboxRef, { isPodman }: RequestPlace): Pick<HostConfig, 'UTSMode'> =>
  isPodman === true ? { UTSMode: `container:${id}` } : {};

function userOf({ user, isolation }: ContainerConfig): Pick<CreateRequest, 'User'> {
  if (isolation === undefined) return user === undefined ? {} : { User: `${user.uid}:${user.gid}` };
  const { user: uid, userName = '', group } = isolation.security;
  const name = uid === undefined ? userName : String(uid);
  if (name === '') return {};
  return { User: group === undefined ? name : `${name}:${group}` };
}

const PROPAGATIONS = { HostToContainer: 'rslave', Bidirectional: 'rshared' } as const;

const mountOf = ({ source, target, readOnly, propagation }: Mount): object => ({
  Type: 'bind',
  Source: source,
  Target: target,
  ReadOnly: readOnly,
  BindOptions: { Propagation: propagation === undefined ? 'rprivate' : PROPAGATIONS[propagation] },
});

const deviceOf = ({ source, target, readOnly }: DeviceUse): object => ({
  PathOnHost: source,
  PathInContainer: target,
  CgroupPermissions: readOnly ? 'r' : 'rwm',
});

function resourcesOf(
  { cpuShares, cpuQuota, cpuPeriod, memoryLimitBytes, oomScoreAdjust }: ContainerResources,
  { oomScoreMin }: RequestPlace,
): Partial<HostConfig> {
  return {
    CpuShares: cpuShares,
    ...(cpuQuota === undefined || cpuPeriod === undefined ? {} : { CpuQuota: cpuQuota, CpuPeriod: cpuPeriod }),
    // No swap beyond the memory.
    ...(memoryLimitBytes === undefined ? {} : { Memory: memoryLimitBytes, MemorySwap: memoryLimitBytes }),
    OomScoreAdj: Math.max(oomScoreAdjust, oomScoreMin),
  };
}

function securityOf(wanted: ContainerSecurity, place: RequestPlace): Partial<HostConfig> {
  return {
    Privileged: wanted.privileged,
    ReadonlyRootfs: wanted.readOnlyRoot,
    CapAdd: wanted.addCapabilities,
    CapDrop: wanted.dropCapabilities,
    GroupAdd: wanted.supplementalGroups.map(String),
    SecurityOpt: securityOptions(wanted, place),
    ...(wanted.unmasked ? { MaskedPaths: [], ReadonlyPaths: [] } : {}),
  };
}

function securityOptions(
  { noNewPrivileges, seccomp, apparmor, seLinux, privileged }: ContainerSecurity,
  { seccompProfile }: RequestPlace,
): readonly string[] {
  const labels = seLinux === undefined ? [] : Object.entries(seLinux).filter(([, value]) => value !== '');
  return [
    ...(noNewPrivileges ? ['no-new-privileges'] : []),
    ...(seccomp === undefined || privileged ? [] : seccompOption(seccomp, seccompProfile)),
    ...(apparmor === undefined || privileged ? [] : apparmorOption(apparmor)),
    ...labels.map(([key, value]) => `label=${key}:${value}`),
  ];
}

/** The engine's own profile is what it does without an option. */
function seccompOption({ type, reference }: SecurityProfile, read: (reference: string) => string): readonly string[] {
  if (type === 'RuntimeDefault') return [];
  return [`seccomp=${type === 'Unconfined' ? 'unconfined' : read(reference)}`];
}

function apparmorOption({ type, reference }: SecurityProfile): readonly string[] {
  if (type === 'RuntimeDefault') return [];
  return [`apparmor=${type === 'Unconfined' ? 'unconfined' : reference}`];
}

const NAME_PREFIX = 'k8s';
const SANDBOX_NAME = 'POD';

/** The names that kubelets always gave to containers of Docker. They exclude a second container of the same life. */
export const sandboxName = (pod: SandboxIdentity): string => nameOf(SANDBOX_NAME, pod, pod.attempt);

export const containerName = (
  pod: SandboxIdentity,
  { name, restartCount }: Pick<ContainerConfig, 'name' | 'restartCount'>,
): string => nameOf(name, pod, restartCount);

function nameOf(container: string, { podName, podNamespace, podUid }: SandboxIdentity, attempt: number): string {
  return [NAME_PREFIX, container, podName, podNamespace, podUid, attempt].join('_').replaceAll(/[^\w.-]/g, '-');
}
