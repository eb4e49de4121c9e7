import type { ContainerConfig, SandboxConfig, SandboxIdentity } from '../port.ts';
import type { SandboxNamespaces } from '../port-isolation.ts';

/**
 * Kubernetes' own labels, which tools read, and whose they are: several nodes may share an engine, of this cluster or of others.
 * A state directory belongs to one node of one cluster.
 */
const NODE = 'holdfast.io/node';
const DIRECTORY = 'holdfast.io/state-directory';
const POD_NAME = 'io.kubernetes.pod.name';
const POD_NAMESPACE = 'io.kubernetes.pod.namespace';
const POD_UID = 'io.kubernetes.pod.uid';
const CONTAINER_NAME = 'io.kubernetes.container.name';
const TYPE = 'io.kubernetes.docker.type';
const SANDBOX_ID = 'io.kubernetes.sandbox.id';
const ATTEMPT = 'holdfast.io/attempt';
/** The parts of the request that later requests need. */
const SANDBOX = 'holdfast.io/sandbox';
/** The image as in the pod. */
const IMAGE = 'holdfast.io/image';

export type Labels = Readonly<Record<string, string>>;

/** The node that containers belong to. */
export interface Owner {
  readonly node: string;
  readonly stateDirectory: string;
}

export interface StoredSandbox extends SandboxIdentity {
  /** Absent: those of a pod that asks for nothing. */
  readonly namespaces?: SandboxNamespaces;
}

export const ownerFilters = ({ node, stateDirectory }: Owner, podUid: string | undefined): readonly string[] => [
  `${NODE}=${node}`,
  `${DIRECTORY}=${stateDirectory}`,
  ...(podUid === undefined ? [] : [`${POD_UID}=${podUid}`]),
];

export const isOwn = (labels: Labels, { node, stateDirectory }: Owner): boolean =>
  labels[NODE] === node && labels[DIRECTORY] === stateDirectory;

function podLabels({ node, stateDirectory }: Owner, pod: SandboxIdentity): Record<string, string> {
  return {
    [NODE]: node,
    [DIRECTORY]: stateDirectory,
    [POD_NAME]: pod.podName,
    [POD_NAMESPACE]: pod.podNamespace,
    [POD_UID]: pod.podUid,
  };
}

export function sandboxLabels(owner: Owner, { isolation, ...identity }: SandboxConfig): Labels {
  const stored: StoredSandbox = isolation === undefined ? identity : { ...identity, namespaces: isolation.namespaces };
  return {
    ...podLabels(owner, identity),
    [TYPE]: 'podsandbox',
    [ATTEMPT]: String(identity.attempt),
    [SANDBOX]: JSON.stringify(stored),
  };
}

export function containerLabels(
  owner: Owner,
  { id, sandbox }: { readonly id: string; readonly sandbox: SandboxIdentity },
  { name, image, restartCount }: Pick<ContainerConfig, 'name' | 'image' | 'restartCount'>,
): Labels {
  return {
    ...podLabels(owner, sandbox),
    [TYPE]: 'container',
    [CONTAINER_NAME]: name,
    [ATTEMPT]: String(restartCount),
    [SANDBOX_ID]: id,
    [IMAGE]: image,
  };
}

export const isSandbox = (labels: Labels): boolean => labels[TYPE] === 'podsandbox';
export const isContainer = (labels: Labels): boolean => labels[TYPE] === 'container';
export const podUidOf = (labels: Labels): string => labels[POD_UID] ?? '';
export const containerNameOf = (labels: Labels): string => labels[CONTAINER_NAME] ?? '';
export const attemptOf = (labels: Labels): number => Number(labels[ATTEMPT] ?? 0);
export const sandboxIdOf = (labels: Labels): string => labels[SANDBOX_ID] ?? '';
export const imageOf = (labels: Labels): string => labels[IMAGE] ?? '';

/**
 * The pod of a container or a sandbox, by labels that every request sets. The labels of an image are those of its
 * containers too, where no request sets them: an image must not choose whose log its container writes.
 */
export function podOf(labels: Labels): {
  readonly podUid: string;
  readonly podName: string;
  readonly podNamespace: string;
} {
  return { podUid: podUidOf(labels), podName: labels[POD_NAME] ?? '', podNamespace: labels[POD_NAMESPACE] ?? '' };
}

/** Only for the labels of a sandbox. What somebody else wrote there gives what the other labels tell. */
export function storedSandbox(labels: Labels): StoredSandbox {
  try {
    return JSON.parse(labels[SANDBOX] ?? '') as StoredSandbox;
  } catch {
    const pod = podOf(labels);
    return { ...pod, hostname: pod.podName, attempt: attemptOf(labels) };
  }
}
