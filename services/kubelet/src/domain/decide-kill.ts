import { type Pod, sidecarsOf } from '@holdfast/api';
import { MIN_CONTAINER_GRACE_SECONDS } from '../limits.ts';
import type { ContainerStatus } from '../runtime/port.ts';
import { untilRetry } from './back-off.ts';
import { containerGrace } from './grace.ts';
import type { Decision, PodAction, PodMemory, PodObservation } from './pod-worker-types.ts';

export interface KillDecision extends Decision {
  /** No process is left and nothing can start any more: every sandbox is stopped. */
  readonly allDead: boolean;
}

/**
 * Stops everything: containers first, sidecars after them and last-declared first, then the sandboxes. As in Kubernetes,
 * only the signals have this order: all hooks begin at once, so that the hook of a sidecar has the whole grace period.
 */
export function decideKill(
  observation: PodObservation,
  pod: Pod | undefined,
  at: { readonly memory: PodMemory; readonly now: number },
): KillDecision {
  const containers = observation.sandboxes.flatMap((sandbox) => sandbox.containers);
  const alive = containers.filter(({ state }) => state === 'running');
  const memory = forgetDead(at.memory, alive);
  if (alive.length > 0) return stopAll(alive, pod, { memory, now: at.now });
  const ready = observation.sandboxes.filter(({ state }) => state === 'ready');
  return {
    actions: ready.map(({ id }) => ({ kind: 'stopSandbox', id })),
    memory,
    wakeAfterMs: undefined,
    allDead: ready.length === 0,
  };
}

/** Those that may get their signal now. */
function nextToStop(alive: readonly ContainerStatus[], pod: Pod | undefined): readonly ContainerStatus[] {
  const sidecars = sidecarsOf(pod?.spec);
  const others = alive.filter(({ config }) => !sidecars.some(({ name }) => name === config.name));
  if (others.length > 0) return others;
  const last = sidecars.findLast(({ name }) => alive.some(({ config }) => config.name === name));
  return alive.filter(({ config }) => config.name === last?.name);
}

function stopAll(
  alive: readonly ContainerStatus[],
  pod: Pod | undefined,
  { memory, now }: { readonly memory: PodMemory; readonly now: number },
): KillDecision {
  const actions: PodAction[] = [];
  const inTurn = new Set(nextToStop(alive, pod).map(({ id }) => id));
  let { stopping, waiting } = memory;
  let wakeAfterMs: number | undefined;
  for (const { id, config } of alive) {
    const retryInMs = untilRetry(memory.stopRetryAt[id], now);
    if (retryInMs > 0) {
      wakeAfterMs = Math.min(wakeAfterMs ?? retryInMs, retryInMs);
      continue;
    }
    const given = stopping[id];
    const waits = !inTurn.has(id);
    const isReleased = waiting[id] === true && !waits;
    if (!isReleased && given !== undefined && given <= memory.graceSeconds) continue;
    stopping = { ...stopping, [id]: memory.graceSeconds };
    waiting = waits ? { ...waiting, [id]: true } : without(waiting, id);
    actions.push(stopOf({ id, config }, { graceSeconds: containerShare(pod, memory, now), waits }));
  }
  return { actions, memory: { ...memory, stopping, waiting }, wakeAfterMs, allDead: false };
}

function stopOf(
  { id, config: { name } }: Pick<ContainerStatus, 'id' | 'config'>,
  { graceSeconds, waits }: { readonly graceSeconds: number; readonly waits: boolean },
): PodAction {
  const stop = { kind: 'stopContainer', id, name, graceSeconds, message: `Stopping container ${name}` } as const;
  return waits ? { ...stop, waits } : stop;
}

function without<T>(record: Readonly<Record<string, T>>, id: string): Readonly<Record<string, T>> {
  const { [id]: _left, ...others } = record;
  return others;
}

/** All containers share the pod's budget: what is stopped later gets what is left of it. */
function containerShare(pod: Pod | undefined, memory: PodMemory, now: number): number {
  const elapsed = Math.floor((now - (memory.terminationStartedAt ?? now)) / 1000);
  const left = Math.max(MIN_CONTAINER_GRACE_SECONDS, memory.graceSeconds - Math.max(0, elapsed));
  return pod === undefined ? left : containerGrace(pod, { kind: 'pod', graceSeconds: left });
}

function forgetDead(memory: PodMemory, alive: readonly ContainerStatus[]): PodMemory {
  const keep = <T>(record: Readonly<Record<string, T>>): Record<string, T> =>
    Object.fromEntries(Object.entries(record).filter(([id]) => alive.some((container) => container.id === id)));
  const { stopping, waiting, stopRetryAt } = memory;
  return { ...memory, stopping: keep(stopping), waiting: keep(waiting), stopRetryAt: keep(stopRetryAt) };
}
