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

/** Stops everything: containers first, sidecars after them and last-declared first, then the sandboxes. */
export function decideKill(
  observation: PodObservation,
  pod: Pod | undefined,
  at: { readonly memory: PodMemory; readonly now: number },
): KillDecision {
  const containers = observation.sandboxes.flatMap((sandbox) => sandbox.containers);
  const alive = containers.filter(({ state }) => state === 'running');
  const memory = forgetDead(at.memory, alive);
  if (alive.length > 0) return stopAll(nextToStop(alive, pod), pod, { memory, now: at.now });
  const ready = observation.sandboxes.filter(({ state }) => state === 'ready');
  return {
    actions: ready.map(({ id }) => ({ kind: 'stopSandbox', id })),
    memory,
    wakeAfterMs: undefined,
    allDead: ready.length === 0,
  };
}

function nextToStop(alive: readonly ContainerStatus[], pod: Pod | undefined): readonly ContainerStatus[] {
  const sidecars = sidecarsOf(pod?.spec);
  const others = alive.filter(({ config }) => !sidecars.some(({ name }) => name === config.name));
  if (others.length > 0) return others;
  const last = sidecars.findLast(({ name }) => alive.some(({ config }) => config.name === name));
  return alive.filter(({ config }) => config.name === last?.name);
}

function stopAll(
  targets: readonly ContainerStatus[],
  pod: Pod | undefined,
  { memory, now }: { readonly memory: PodMemory; readonly now: number },
): KillDecision {
  const actions: PodAction[] = [];
  const stopping = { ...memory.stopping };
  let wakeAfterMs: number | undefined;
  for (const { id, config } of targets) {
    const retryInMs = untilRetry(memory.stopRetryAt[id], now);
    if (retryInMs > 0) {
      wakeAfterMs = Math.min(wakeAfterMs ?? retryInMs, retryInMs);
      continue;
    }
    const graceSeconds = containerShare(pod, memory, now);
    const given = stopping[id];
    if (given !== undefined && given <= memory.graceSeconds) continue;
    stopping[id] = memory.graceSeconds;
    actions.push({
      kind: 'stopContainer',
      id,
      name: config.name,
      graceSeconds,
      message: `Stopping container ${config.name}`,
    });
  }
  return { actions, memory: { ...memory, stopping }, wakeAfterMs, allDead: false };
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
  return { ...memory, stopping: keep(memory.stopping), stopRetryAt: keep(memory.stopRetryAt) };
}
