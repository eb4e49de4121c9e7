import type { ContainerStatus as ApiContainerStatus, Container, Pod } from '@holdfast/api';
import { parseTime } from '@holdfast/platform';
import type { ContainerStatus, SandboxStatus } from '../runtime/port.ts';

/** One life of a container: from the runtime or, when the runtime lost it, from the API's last status. */
export interface ContainerLife {
  readonly name: string;
  /** '' when only the API remembers it. */
  readonly id: string;
  readonly sandboxId: string;
  /** As the pod named it when this life began; '' when nobody knows. */
  readonly image: string;
  readonly imageId?: string | undefined;
  readonly restartCount: number;
  readonly state: ContainerStatus['state'];
  readonly startedAt: number | undefined;
  /** The machine says that it is not ready, whatever its probes say. */
  readonly unready?: true | undefined;
  readonly finishedAt: number;
  readonly exitCode: number;
  readonly reason: string;
  readonly message: string | undefined;
}

/** All lives of one container, newest first. */
export function livesOf(name: string, sandboxes: readonly SandboxStatus[]): ContainerLife[] {
  return sandboxes
    .flatMap((sandbox) =>
      sandbox.containers
        .filter((container) => container.config.name === name)
        .map((container) => lifeOf(container, sandbox.id)),
    )
    .toSorted((a, b) => b.restartCount - a.restartCount);
}

/**
 * Returns the newest life. A life that the API reported and the runtime lost (its disk was wiped) has an unknown end.
 * It must not count as "never ran", or a container that may run once would run twice.
 */
export function latestLife(
  container: Container,
  pod: Pod,
  sandboxes: readonly SandboxStatus[],
): ContainerLife | undefined {
  return livesOf(container.name, sandboxes)[0] ?? rememberedLife(apiStatusOf(container.name, pod));
}

export function apiStatusOf(name: string, pod: Pod): ApiContainerStatus | undefined {
  const { containerStatuses = [], initContainerStatuses = [], ephemeralContainerStatuses = [] } = pod.status;
  const all = [...containerStatuses, ...initContainerStatuses, ...ephemeralContainerStatuses];
  return all.find((status) => status.name === name);
}

/** Every container of the pod, whatever its part in it. Names are unique among them. */
export function allContainers({ spec }: Pod): readonly Container[] {
  return [...spec.containers, ...(spec.initContainers ?? []), ...(spec.ephemeralContainers ?? [])];
}

export function isAlive(life: Pick<ContainerLife, 'state'>): boolean {
  return life.state === 'running';
}

export const UNKNOWN_EXIT_CODE = 137;
export const UNKNOWN_REASON = 'ContainerStatusUnknown';

function lifeOf(container: ContainerStatus, sandboxId: string): ContainerLife {
  return {
    name: container.config.name,
    id: container.id,
    sandboxId,
    image: container.config.image,
    imageId: container.imageId,
    restartCount: container.config.restartCount,
    state: container.state,
    startedAt: container.startedAt,
    unready: container.unready,
    finishedAt: container.finishedAt ?? container.createdAt,
    exitCode: container.exitCode ?? 0,
    reason: container.reason ?? (container.exitCode === 0 ? 'Completed' : 'Error'),
    message: container.message,
  };
}

function rememberedLife(status: ApiContainerStatus | undefined): ContainerLife | undefined {
  if (status === undefined) return undefined;
  const terminated = status.state.terminated ?? status.lastState.terminated;
  if (terminated === undefined && status.state.running === undefined) return undefined;
  const ended = status.state.running === undefined ? terminated : undefined;
  return {
    name: status.name,
    id: '',
    sandboxId: '',
    image: '',
    restartCount: status.restartCount,
    state: 'exited',
    startedAt: timeOf(ended?.startedAt ?? status.state.running?.startedAt),
    finishedAt: timeOf(ended?.finishedAt) ?? 0,
    exitCode: ended?.exitCode ?? UNKNOWN_EXIT_CODE,
    reason: ended?.reason ?? UNKNOWN_REASON,
    message: ended === undefined ? 'The container could not be located when the pod was synced' : ended.message,
  };
}

const timeOf = (text: string | undefined | null): number | undefined =>
  text === undefined || text === null ? undefined : parseTime(text);
