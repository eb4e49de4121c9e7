import type { ContainerStatus, SandboxIdentity, SandboxStatus } from '../port.ts';
import {
  type Container,
  ContainerState,
  type ContainerStatus as CriContainerStatus,
  type PodSandboxStatus as CriSandboxStatus,
  type PodSandbox,
  PodSandboxState,
} from './generated/cri_pb.js';
import { decodeSandbox, imageOf } from './labels.ts';

const NANOSECONDS_PER_MS = 1_000_000n;
const SIGNAL_BASE = 128;
const SIGNALS_MAX = 64;

export interface SandboxRecord extends Omit<SandboxStatus, 'containers'> {
  /** It has the machine's address, which may change: read it each time. */
  readonly sharesNetwork: boolean;
}

export interface SandboxSurroundings {
  /** For pods on the machine's network. */
  readonly nodeAddress: () => string;
  readonly volumesPath: (podUid: string) => string;
}

export function sandboxRecord(status: CriSandboxStatus, { volumesPath }: SandboxSurroundings): SandboxRecord {
  const { isolation, ...config } = decodeSandbox(status.id, status.annotations);
  const sharesNetwork = isolation?.namespaces.network === 'node';
  const more = (status.network?.additionalIps ?? []).map(({ ip }) => ip);
  return {
    id: status.id,
    config: config satisfies SandboxIdentity,
    state: status.state === PodSandboxState.SANDBOX_READY ? 'ready' : 'notReady',
    createdAt: milliseconds(status.createdAt),
    ip: sharesNetwork ? '' : (status.network?.ip ?? ''),
    sharesNetwork,
    ...(more.length === 0 ? {} : { moreIps: more }),
    volumesPath: volumesPath(config.podUid),
  };
}

/** The data in a list of sandboxes: enough to know the pod and that it exists. */
export function listedSandbox(sandbox: PodSandbox, { volumesPath }: SandboxSurroundings): SandboxRecord {
  const { id, metadata, annotations, state, createdAt } = sandbox;
  const { uid: podUid = '', name: podName = '', namespace: podNamespace = '', attempt = 0 } = metadata ?? {};
  return {
    id,
    config: identityOf(id, annotations) ?? { podUid, podName, podNamespace, hostname: podName, attempt },
    state: state === PodSandboxState.SANDBOX_READY ? 'ready' : 'notReady',
    createdAt: milliseconds(createdAt),
    ip: '',
    sharesNetwork: false,
    volumesPath: volumesPath(podUid),
  };
}

/** The annotation may be what is broken. */
function identityOf(id: string, annotations: PodSandbox['annotations']): SandboxIdentity | undefined {
  try {
    const { isolation: _isolation, ...config } = decodeSandbox(id, annotations);
    return config;
  } catch {
    return undefined;
  }
}

/** Nobody saw its end, and the list does not say which image the pod named. */
export const listedContainer = ({ id, metadata, createdAt }: Container): ContainerStatus => ({
  id,
  config: { name: metadata?.name ?? '', image: '', restartCount: metadata?.attempt ?? 0 },
  state: 'running',
  createdAt: milliseconds(createdAt),
});

/** A state that the runtime does not know counts as running: its end is unknown. */
const STATES: Readonly<Record<ContainerState, ContainerStatus['state']>> = {
  [ContainerState.CONTAINER_CREATED]: 'created',
  [ContainerState.CONTAINER_RUNNING]: 'running',
  [ContainerState.CONTAINER_EXITED]: 'exited',
  [ContainerState.CONTAINER_UNKNOWN]: 'running',
};

export function containerRecord(status: CriContainerStatus): ContainerStatus {
  const { id, metadata, imageRef, logPath, startedAt } = status;
  const state = STATES[status.state];
  return {
    id,
    config: {
      name: metadata?.name ?? '',
      image: imageOf(status.annotations),
      restartCount: metadata?.attempt ?? 0,
    },
    ...(imageRef === '' ? {} : { imageId: imageRef }),
    state,
    createdAt: milliseconds(status.createdAt),
    ...(startedAt === 0n ? {} : { startedAt: milliseconds(startedAt) }),
    ...(state === 'exited' ? exitOf(status) : {}),
    ...(logPath === '' ? {} : { logPath, logFormat: 'cri' as const }),
  };
}

function exitOf(status: CriContainerStatus): Partial<ContainerStatus> {
  const { exitCode, reason, message, finishedAt } = status;
  const signal = exitCode - SIGNAL_BASE;
  return {
    finishedAt: milliseconds(finishedAt),
    exitCode,
    ...(signal > 0 && signal <= SIGNALS_MAX ? { signal } : {}),
    reason: reason === '' ? (exitCode === 0 ? 'Completed' : 'Error') : reason,
    ...(message === '' ? {} : { message }),
  };
}

/** Stopped before it ever ran: the runtime removed it immediately, so that nothing can start it any more. */
export function buriedRecord(status: CriContainerStatus, now: number): ContainerStatus {
  const { state: _state, ...record } = containerRecord(status);
  return { ...record, state: 'exited', finishedAt: now, exitCode: SIGNAL_BASE + 9, signal: 9, reason: 'Error' };
}

const milliseconds = (nanoseconds: bigint): number => Number(nanoseconds / NANOSECONDS_PER_MS);
