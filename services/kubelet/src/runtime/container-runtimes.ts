import type { Clock } from '@holdfast/platform';
import type { CriRuntimeOptions } from './cri/index.ts';
import type { DockerRuntimeOptions } from './docker/index.ts';
import { type ContainerRuntime, RuntimeError } from './port.ts';

export type ContainerKind = 'cri' | 'docker';

export interface OpenedRuntime {
  readonly runtime: ContainerRuntime;
  /** As in `containerRuntimeVersion` of the node, without the version. */
  readonly runtimeName: string;
}

/** The usual sockets. */
export const CONTAINER_ENDPOINTS: Readonly<Record<ContainerKind, string>> = {
  cri: 'unix:///run/containerd/containerd.sock',
  docker: 'unix:///var/run/docker.sock',
};

/** A socket of this machine answers in less; a start does not wait longer for one that hangs. */
const PROBE_DEADLINE_MS = 300;

/** Loads only the used client. */
export async function openContainerRuntime(
  kind: ContainerKind,
  options: CriRuntimeOptions & DockerRuntimeOptions,
): Promise<OpenedRuntime> {
  if (kind === 'cri') return (await import('./cri/index.ts')).openCriRuntime(options);
  return (await import('./docker/index.ts')).openDockerRuntime(options);
}

/** `name://version` of the runtime at this socket. Rejects when none answers soon. */
export async function probeContainerRuntime(kind: ContainerKind, endpoint: string, clock: Clock): Promise<string> {
  const late = Promise.withResolvers<never>();
  const timer = clock.timer(PROBE_DEADLINE_MS, () =>
    late.reject(new RuntimeError('Unavailable', `no answer at ${endpoint} within ${PROBE_DEADLINE_MS} ms`)),
  );
  try {
    return await Promise.race([versionOf(kind, endpoint, clock), late.promise]);
  } finally {
    timer.cancel();
  }
}

async function versionOf(kind: ContainerKind, endpoint: string, clock: Clock): Promise<string> {
  if (kind === 'cri') return (await import('./cri/index.ts')).readCriVersion(endpoint, clock);
  return (await import('./docker/index.ts')).readDockerVersion(endpoint, clock);
}
