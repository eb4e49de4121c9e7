import { type Container, type Pod, qosClassOf, type ResourceRequirements, type SeccompProfile } from '@holdfast/api';
import { milliValue, parseQuantity, value as unitsOf } from '@holdfast/machinery';
import type { ImageStatus } from '../runtime/port-images.ts';
import type {
  ContainerIsolation,
  ContainerResources,
  ContainerSecurity,
  SecurityProfile,
} from '../runtime/port-isolation.ts';
import { ContainerConfigError } from './environment.ts';
import { supplementalGroups } from './sandbox-isolation.ts';

export interface IsolationContext {
  /** Absent: the runtime does not say what its images are. */
  readonly image: Pick<ImageStatus, 'user' | 'userName'> | undefined;
  /** Quantity. */
  readonly nodeMemory: string;
  /** Id of the container whose processes an ephemeral one wants to see. */
  readonly target: string | undefined;
}

const ROOT = 0;

/** Returns a container's requests to an isolating runtime; refuses forbidden ones. */
export function containerIsolation(pod: Pod, container: Container, context: IsolationContext): ContainerIsolation {
  return {
    resources: resourcesOf(pod, container, context.nodeMemory),
    security: securityOf(pod, container, context),
  };
}

const SHARES_PER_CPU = 1024;
const SHARES_MIN = 2;
const SHARES_MAX = 262_144;
const QUOTA_PERIOD_MICROS = 100_000;
const QUOTA_MIN_MICROS = 1_000;

export function resourcesOf(pod: Pod, { resources }: Container, nodeMemory: string): ContainerResources {
  const { limits = {}, requests = {} }: ResourceRequirements = resources ?? {};
  const cpuLimit = milliValue(parseQuantity(limits['cpu'] ?? '0'));
  const cpuRequest = requests['cpu'] === undefined ? cpuLimit : milliValue(parseQuantity(requests['cpu']));
  const memoryLimit = unitsOf(parseQuantity(limits['memory'] ?? '0'));
  const shares = Math.floor((cpuRequest * SHARES_PER_CPU) / 1000);
  const quota = Math.max(QUOTA_MIN_MICROS, Math.floor((cpuLimit * QUOTA_PERIOD_MICROS) / 1000));
  const hugepages = hugepagesOf(limits);
  return {
    cpuShares: Math.min(SHARES_MAX, Math.max(SHARES_MIN, shares)),
    ...(cpuLimit === 0 ? {} : { cpuQuota: quota, cpuPeriod: QUOTA_PERIOD_MICROS }),
    ...(memoryLimit === 0 ? {} : { memoryLimitBytes: memoryLimit }),
    ...(hugepages.length === 0 ? {} : { hugepages }),
    oomScoreAdjust: oomScoreAdjust(pod, requests['memory'] ?? limits['memory'] ?? '0', nodeMemory),
  };
}

const PROTECTED = -997;
const FIRST_TO_GO = 1000;
const BURSTABLE_MIN = 2;
const NODE_CRITICAL_PRIORITY = 2_000_001_000;

/** The smaller a container's memory request, the earlier the kernel kills it when memory runs out. */
function oomScoreAdjust(pod: Pod, memoryRequest: string, nodeMemory: string): number {
  if ((pod.spec.priority ?? 0) >= NODE_CRITICAL_PRIORITY) return PROTECTED;
  const qos = pod.status.qosClass ?? qosClassOf(pod);
  if (qos === 'Guaranteed') return PROTECTED;
  if (qos === 'BestEffort') return FIRST_TO_GO;
  const capacity = unitsOf(parseQuantity(nodeMemory));
  const share = capacity === 0 ? 0 : Math.floor((1000 * unitsOf(parseQuantity(memoryRequest))) / capacity);
  return Math.min(FIRST_TO_GO - 1, Math.max(BURSTABLE_MIN, FIRST_TO_GO - share));
}

/** `hugepages-2Mi` -> `2MB`, as the kernel's control groups call it. */
function hugepagesOf(limits: Readonly<Record<string, string>>): NonNullable<ContainerResources['hugepages']> {
  return Object.entries(limits).flatMap(([name, text]) => {
    const size = /^hugepages-(\d+)([KMG])i$/.exec(name);
    return size === null ? [] : [{ pageSize: `${size[1]}${size[2]}B`, limitBytes: unitsOf(parseQuantity(text)) }];
  });
}

function securityOf(pod: Pod, container: Container, context: IsolationContext): ContainerSecurity {
  const own = container.securityContext ?? {};
  const shared = pod.spec.securityContext ?? {};
  const user = userOf(pod, container, context);
  const group = own.runAsGroup ?? shared.runAsGroup;
  const apparmor = profileOf(own.appArmorProfile ?? shared.appArmorProfile);
  const seLinux = own.seLinuxOptions ?? shared.seLinuxOptions;
  return {
    privileged: own.privileged === true,
    addCapabilities: own.capabilities?.add ?? [],
    dropCapabilities: own.capabilities?.drop ?? [],
    ...user,
    ...(group === undefined ? {} : { group }),
    supplementalGroups: supplementalGroups(pod),
    readOnlyRoot: own.readOnlyRootFilesystem === true,
    noNewPrivileges: own.allowPrivilegeEscalation === false,
    seccomp: profileOf(own.seccompProfile ?? shared.seccompProfile) ?? { type: 'Unconfined', reference: '' },
    ...(apparmor === undefined ? {} : { apparmor }),
    ...(seLinux === undefined
      ? {}
      : { seLinux: { user: '', role: '', type: '', level: '', ...definedTexts({ ...seLinux }) } }),
    unmasked: own.procMount === 'Unmasked',
    ...(context.target === undefined ? {} : { processesOf: context.target }),
  };
}

const definedTexts = (texts: Readonly<Record<string, string | undefined>>): Record<string, string> =>
  Object.fromEntries(Object.entries(texts).flatMap(([key, text]) => (text === undefined ? [] : [[key, text]])));

/** The pod's wish, else the image's, else root. */
function userOf(
  pod: Pod,
  container: Container,
  { image }: IsolationContext,
): Pick<ContainerSecurity, 'user' | 'userName'> {
  const own = container.securityContext;
  const shared = pod.spec.securityContext;
  const wanted = own?.runAsUser ?? shared?.runAsUser;
  const nonRoot = (own?.runAsNonRoot ?? shared?.runAsNonRoot) === true;
  if (wanted !== undefined) {
    if (nonRoot && wanted === ROOT) throw refused("container's runAsUser breaks non-root policy", pod, container);
    return { user: wanted };
  }
  const { user, userName } = image ?? {};
  if (user === undefined && userName !== undefined) {
    if (nonRoot) {
      const why = `container has runAsNonRoot and image has non-numeric user (${userName}), cannot verify user is non-root`;
      throw refused(why, pod, container);
    }
    return { userName };
  }
  if (nonRoot && (user ?? ROOT) === ROOT)
    throw refused('container has runAsNonRoot and image will run as root', pod, container);
  return { user: user ?? ROOT };
}

function refused(why: string, { metadata }: Pod, { name: container }: Container): ContainerConfigError {
  const { name = '', namespace = '', uid = '' } = metadata;
  return new ContainerConfigError(`${why} (pod: "${name}_${namespace}(${uid})", container: ${container})`);
}

function profileOf(asked: SeccompProfile | undefined): SecurityProfile | undefined {
  if (asked === undefined) return undefined;
  const { type, localhostProfile: reference = '' } = asked;
  if (type === 'Localhost' || type === 'RuntimeDefault') return { type, reference };
  return { type: 'Unconfined', reference: '' };
}
