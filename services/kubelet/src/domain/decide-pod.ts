import { isPodFinished, isTerminating, type Pod, type PodStatus } from '@holdfast/api';
import { parseTime } from '@holdfast/platform';
import { ORPHAN_GRACE_SECONDS } from '../limits.ts';
import { decideActive } from './decide-active.ts';
import { decideKill } from './decide-kill.ts';
import { effectivePodGrace } from './grace.ts';
import { podStatus, rejectedStatus, writeIfChanged } from './pod-status.ts';
import type { Decision, PodAction, PodFailure, PodMemory, PodObservation } from './pod-worker-types.ts';

/**
 * Decides the next actions for one pod. Actions are valid in the observed state and safe to repeat; the caller observes
 * again afterwards. The stages follow each other in one direction: active, ended by itself or by the kubelet, being
 * deleted, gone.
 */
export function decidePod(observation: PodObservation, memory: PodMemory, now: number): Decision {
  const { pod } = observation;
  if (pod === undefined) return decideOrphan(observation, memory, now);
  if (isTerminating(pod)) return decideTerminating(observation, pod, { memory, now });
  if (isPodFinished(pod)) return decideEnded(observation, pod, { memory, now });
  const failure = memory.rejected ?? findFailure(observation, pod, now);
  if (failure !== undefined) return decideFailed(observation, pod, { memory, now, failure });
  return decideActive(observation, pod, { memory, now });
}

interface At {
  readonly memory: PodMemory;
  readonly now: number;
}

/** The object is gone, and with it any grace period. Its processes get a short time, whatever was promised before. */
function decideOrphan(observation: PodObservation, before: PodMemory, now: number): Decision {
  const grace = before.graceSeconds === 0 ? ORPHAN_GRACE_SECONDS : Math.min(before.graceSeconds, ORPHAN_GRACE_SECONDS);
  const memory = startTermination(before, grace, now);
  const kill = decideKill(observation, undefined, { memory, now });
  if (!kill.allDead) return kill;
  if (observation.sandboxes.length === 0) return { ...kill, actions: [{ kind: 'forget' }] };
  return { ...kill, actions: [...kill.actions, ...releaseSandboxes(observation)] };
}

/**
 * Every process confirmed dead, then the final status, then everything of the pod released, then the object: in this order,
 * each step seen done before the next. A crash in between starts again from whatever is still there.
 */
function decideTerminating(observation: PodObservation, pod: Pod, at: At): Decision {
  const override = at.memory.rejected?.graceSeconds;
  const memory = startTermination(at.memory, effectivePodGrace(at.memory.graceSeconds, pod, override), at.now);
  const kill = decideKill(observation, pod, { memory, now: at.now });
  if (isAboutToEnd(kill)) return kill;
  if (!kill.allDead) {
    const status = statusOf(observation, pod, { memory: kill.memory, now: at.now, stage: 'ending' });
    return { ...kill, actions: [...kill.actions, ...writeIfChanged(pod, status, at.memory)] };
  }
  const final = statusOf(observation, pod, { memory, now: at.now, stage: 'final' });
  const write = writeIfChanged(pod, final, at.memory);
  if (write.length > 0) return { ...kill, actions: [...kill.actions, ...write] };
  if (observation.sandboxes.length > 0)
    return { ...kill, actions: [...kill.actions, ...releaseSandboxes(observation)] };
  if (memory.deleteRequested) return { ...kill, actions: [] };
  return { ...kill, memory: { ...kill.memory, deleteRequested: true }, actions: [{ kind: 'deletePod' }] };
}

/** Its phase never changes again. Whatever still runs (sidecars, or everything when another one ended the pod) is stopped. */
function decideEnded(observation: PodObservation, pod: Pod, at: At): Decision {
  const anythingAlive = observation.sandboxes.some((sandbox) =>
    sandbox.containers.some(({ state }) => state === 'running'),
  );
  const memory = anythingAlive
    ? startTermination(at.memory, effectivePodGrace(at.memory.graceSeconds, pod), at.now)
    : at.memory;
  const kill = decideKill(observation, pod, { memory, now: at.now });
  if (isAboutToEnd(kill)) return kill;
  const stage = kill.allDead ? 'final' : 'ending';
  const status = statusOf(observation, pod, { memory: kill.memory, now: at.now, stage });
  // Nothing of it ever ran here: the component that ended the pod reports about its containers.
  const write = observation.sandboxes.length === 0 ? [] : writeIfChanged(pod, status, at.memory);
  return { ...kill, actions: [...kill.actions, ...write] };
}

/** Kill first, then say so: a pod that is shown as failed has no process left. */
function decideFailed(observation: PodObservation, pod: Pod, at: At & { readonly failure: PodFailure }): Decision {
  const { reason, event, graceSeconds } = at.failure;
  const grace = effectivePodGrace(at.memory.graceSeconds, pod, graceSeconds);
  const memory = startTermination(at.memory, grace, at.now);
  const kill = decideKill(observation, pod, { memory, now: at.now });
  if (!kill.allDead) return kill;
  const neverHere = observation.sandboxes.length === 0 && (pod.status.containerStatuses ?? []).length === 0;
  const status = neverHere
    ? rejectedStatus(pod, at.failure, at.now)
    : statusOf(observation, pod, { memory: kill.memory, now: at.now, stage: 'final' }, at.failure);
  const write = writeIfChanged(pod, status, at.memory);
  const isTold = write.length === 0 || event === undefined;
  const told: PodAction[] = isTold ? [] : [{ kind: 'event', reason, ...event }];
  return { ...kill, actions: [...kill.actions, ...told, ...write] };
}

function findFailure(observation: PodObservation, pod: Pod, now: number): PodFailure | undefined {
  const os = pod.spec.os?.name;
  if (os !== undefined && os !== observation.node.operatingSystem) {
    return failureOf('PodOSNotSupported', "Failed to admit pod as the OS field doesn't match node OS", 'Warning');
  }
  const { activeDeadlineSeconds } = pod.spec;
  const startedAt = pod.status.startTime === undefined ? undefined : parseTime(pod.status.startTime);
  if (
    activeDeadlineSeconds !== undefined &&
    startedAt !== undefined &&
    now >= startedAt + activeDeadlineSeconds * 1000
  ) {
    const message = 'Pod was active on the node longer than the specified deadline';
    return failureOf('DeadlineExceeded', message, 'Normal');
  }
  return undefined;
}

const failureOf = (reason: string, message: string, type: 'Normal' | 'Warning'): PodFailure => ({
  reason,
  message,
  event: { type, message },
});

/** The end is imminent and will be reported then: no status is written in between. */
function isAboutToEnd({ actions }: Decision): boolean {
  return actions.some(({ kind }) => kind === 'stopSandbox' || kind === 'stopContainer');
}

/** A shortened grace period restarts with the shorter time. */
function startTermination(memory: PodMemory, graceSeconds: number, now: number): PodMemory {
  const isShortened = memory.graceSeconds > graceSeconds;
  const terminationStartedAt = isShortened ? now : (memory.terminationStartedAt ?? now);
  return { ...memory, graceSeconds, terminationStartedAt };
}

function releaseSandboxes({ sandboxes }: PodObservation): PodAction[] {
  return sandboxes.map(({ id }) => ({ kind: 'removeSandbox', id }));
}

function statusOf(
  observation: PodObservation,
  pod: Pod,
  at: At & { readonly stage: 'active' | 'ending' | 'final' },
  failure?: PodFailure,
): PodStatus {
  const { sandboxes, node } = observation;
  const { memory, now, stage } = at;
  return podStatus({ pod, sandboxes, memory, now, stage, runtimeName: node.runtimeName }, node, failure);
}
