import type { ContainerStatus as ApiContainerStatus, Container, ContainerState, Pod } from '@holdfast/api';
import { ownValue } from '@holdfast/machinery';
import { formatTime } from '@holdfast/platform';
import type { SandboxStatus } from '../runtime/port.ts';
import { formatDuration } from './back-off.ts';
import type { PodMemory, StartFailure } from './pod-worker-types.ts';
import { apiStatusOf, type ContainerLife, latestLife, livesOf, UNKNOWN_EXIT_CODE, UNKNOWN_REASON } from './records.ts';
import { initIsDone, restartVerdict, roleOf } from './restart.ts';
import { cutMessage, messageShareBytes } from './termination-message.ts';

export interface StatusContext {
  readonly pod: Pod;
  readonly sandboxes: readonly SandboxStatus[];
  readonly memory: PodMemory;
  readonly now: number;
  readonly runtimeName: string;
  /** `active`: containers may (re)start. `final`: nothing runs and nothing will. */
  readonly stage: 'active' | 'ending' | 'final';
}

export function containerStatus(container: Container, context: StatusContext): ApiContainerStatus {
  const { pod, sandboxes } = context;
  const old = apiStatusOf(container.name, pod);
  const life = latestLife(container, pod, sandboxes);
  const started = isStarted(container, life, context.memory);
  const { state, lastState } = statesOf(container, life, context);
  const id = life?.id ?? '';
  return {
    ...(id === '' && old?.containerID !== undefined ? { containerID: old.containerID } : {}),
    ...(id === '' ? {} : { containerID: `${context.runtimeName}://${id}` }),
    image: life === undefined || life.image === '' ? (container.image ?? '') : life.image,
    imageID: life?.imageId ?? old?.imageID ?? '',
    lastState,
    name: container.name,
    ready: isReady(container, life, context),
    restartCount: Math.max(life?.restartCount ?? 0, old?.restartCount ?? 0),
    started,
    state,
  };
}

/** A process runs, its postStart hook is through and, where a startup probe is defined, that one has succeeded. */
export function isStarted(container: Container, life: ContainerLife | undefined, memory: PodMemory): boolean {
  if (life?.state !== 'running' || memory.postStart[life.id] !== undefined) return false;
  return container.startupProbe === undefined || memory.probes[life.id]?.startup === 'success';
}

function isReady(container: Container, life: ContainerLife | undefined, context: StatusContext): boolean {
  const role = roleOf(container, context.pod);
  if (role === 'init') return life?.state === 'exited' && life.exitCode === 0;
  if (role === 'ephemeral') return false;
  if (life === undefined || life.unready === true || !isStarted(container, life, context.memory)) return false;
  return container.readinessProbe === undefined || context.memory.probes[life.id]?.readiness === 'success';
}

function statesOf(
  container: Container,
  life: ContainerLife | undefined,
  context: StatusContext,
): { state: ContainerState; lastState: ContainerState } {
  const kept = apiStatusOf(container.name, context.pod)?.lastState ?? {};
  const previous = previousLife(container.name, life, context.sandboxes);
  const lastState = previous === undefined ? kept : { terminated: terminatedState(previous, context) };
  if (life === undefined) return { state: neverRanState(container, context), lastState };
  // Known only from the API: its reported end stays unchanged.
  const told = life.id === '' ? apiStatusOf(container.name, context.pod)?.state.terminated : undefined;
  if (told !== undefined && context.stage !== 'active') return { state: { terminated: told }, lastState };
  switch (life.state) {
    case 'created':
      return { state: neverRanState(container, context), lastState };
    case 'running':
      if (context.memory.postStart[life.id] !== undefined)
        return { state: neverRanState(container, context), lastState };
      return { state: { running: { startedAt: formatTime(life.startedAt ?? context.now) } }, lastState };
    case 'exited': {
      const terminated = terminatedState(life, context);
      const waiting = waitingForRestart(container, life, context);
      return waiting === undefined
        ? { state: { terminated }, lastState }
        : { state: { waiting }, lastState: { terminated } };
    }
  }
}

function previousLife(
  name: string,
  life: ContainerLife | undefined,
  sandboxes: readonly SandboxStatus[],
): ContainerLife | undefined {
  return livesOf(name, sandboxes).find((each) => each.id !== life?.id && each.state === 'exited');
}

function waitingForRestart(
  container: Container,
  life: ContainerLife,
  context: StatusContext,
): ContainerState['waiting'] | undefined {
  if (context.stage !== 'active') return undefined;
  const verdict = restartVerdict(container, context.pod, life, context);
  if (verdict.kind === 'never') return undefined;
  const failure = ownValue(context.memory.failures, container.name);
  if (failure !== undefined) return waitingFor(failure);
  if (verdict.kind === 'now') return undefined;
  const { name = '', namespace = '', uid = '' } = context.pod.metadata;
  const delay = formatDuration(ownValue(context.memory.backOff, container.name)?.delayMs ?? verdict.delayMs);
  return {
    message: `back-off ${delay} restarting failed container=${container.name} pod=${name}_${namespace}(${uid})`,
    reason: 'CrashLoopBackOff',
  };
}

function neverRanState(container: Container, context: StatusContext): ContainerState {
  if (context.stage === 'final' && initIsDone(context)) return { terminated: lostState() };
  const failure = ownValue(context.memory.failures, container.name);
  if (failure !== undefined) return { waiting: waitingFor(failure) };
  const hookError = hookErrorOf(container, context);
  if (hookError !== undefined) return { waiting: waitingFor({ message: hookError, reason: 'PostStartHookError' }) };
  const hasInit = (context.pod.spec.initContainers ?? []).length > 0 && roleOf(container, context.pod) !== 'ephemeral';
  return { waiting: { reason: hasInit ? 'PodInitializing' : 'ContainerCreating' } };
}

/** Without a message there is no error: it only takes time. */
const waitingFor = ({
  message,
  reason,
}: Pick<StartFailure, 'message' | 'reason'>): NonNullable<ContainerState['waiting']> =>
  message === '' ? { reason } : { message, reason };

/** The error of the newest life whose postStart hook failed. */
function hookErrorOf(container: Container, { sandboxes, memory }: StatusContext): string | undefined {
  const life = livesOf(container.name, sandboxes).find(({ id }) => memory.postStart[id] === 'failed');
  return life === undefined ? undefined : (memory.hookErrors[life.id] ?? '');
}

/** The end is unknown: it is reported as a failure, never as a success. */
function lostState(): NonNullable<ContainerState['terminated']> {
  return {
    exitCode: UNKNOWN_EXIT_CODE,
    message: 'The container could not be located when the pod was terminated',
    reason: UNKNOWN_REASON,
  };
}

function terminatedState(life: ContainerLife, context: StatusContext): NonNullable<ContainerState['terminated']> {
  return {
    ...(life.id === '' ? {} : { containerID: `${context.runtimeName}://${life.id}` }),
    exitCode: life.exitCode,
    finishedAt: formatTime(life.finishedAt),
    ...(life.message === undefined ? {} : { message: cutMessage(life.message, messageShareBytes(context.pod)) }),
    reason: life.reason,
    startedAt: formatTime(life.startedAt ?? 0),
  };
}
