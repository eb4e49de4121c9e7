import { parseTime } from '@holdfast/platform';
import { ageOf } from '../../columns/age.ts';
import type { ContainerStatus, Pod } from '../../generated/types.ts';
import { isPodFinished, isTerminating, podCondition, sidecarsOf } from '../../semantics/pods.ts';

export interface PrintedPod {
  readonly ready: number;
  readonly total: number;
  /** The STATUS column. */
  readonly reason: string;
  readonly restarts: string;
}

interface Tally {
  ready: number;
  restarts: number;
  lastRestart: string | undefined;
  reason: string;
}

/** The columns of `kubectl get pods`. The state of containers overrides the phase. */
export function printedPod(pod: Readonly<Pod>, now: number): PrintedPod {
  const sidecars = new Set(sidecarsOf(pod.spec).map((c) => c.name));
  const all: Tally = { ready: 0, restarts: 0, lastRestart: undefined, reason: initialReason(pod) };
  const sidecarsOnly: Tally = { ...all };
  const initializing = tallyInit(pod, sidecars, all, sidecarsOnly);
  let tally = all;
  if (!initializing || conditionIsTrue(pod, 'Initialized')) {
    tally = { ...sidecarsOnly, ready: all.ready, reason: all.reason };
    tallyMain(pod, tally);
  }
  return {
    ready: tally.ready,
    total: pod.spec.containers.length + sidecars.size,
    reason: finalReason(pod, tally.reason),
    restarts: restartsText(tally, now),
  };
}

function initialReason(pod: Readonly<Pod>): string {
  const gated = podCondition(pod, 'PodScheduled')?.reason === 'SchedulingGated';
  return gated ? 'SchedulingGated' : pod.status.reason || (pod.status.phase ?? '');
}

/** Returns true while an init container is unfinished. Then the reason names it and its state. */
function tallyInit(pod: Readonly<Pod>, sidecars: ReadonlySet<string>, all: Tally, sidecarsOnly: Tally): boolean {
  for (const [i, status] of (pod.status.initContainerStatuses ?? []).entries()) {
    const isSidecar = sidecars.has(status.name);
    countRestarts(all, status);
    if (isSidecar) countRestarts(sidecarsOnly, status);
    if (status.state.terminated?.exitCode === 0) continue;
    if (isSidecar && status.started === true) {
      if (status.ready) all.ready += 1;
      continue;
    }
    all.reason = `Init:${initReason(status) ?? `${i}/${pod.spec.initContainers?.length ?? 0}`}`;
    return true;
  }
  return false;
}

function initReason({ state }: ContainerStatus): string | undefined {
  if (state.terminated !== undefined) return terminatedReason(state.terminated);
  const waiting = state.waiting?.reason;
  return waiting && waiting !== 'PodInitializing' ? waiting : undefined;
}

function terminatedReason(terminated: NonNullable<ContainerStatus['state']['terminated']>): string {
  if (terminated.reason) return terminated.reason;
  return terminated.signal ? `Signal:${terminated.signal}` : `ExitCode:${terminated.exitCode}`;
}

/** The first container with a reason wins, so this iterates from the last one. */
function tallyMain(pod: Readonly<Pod>, tally: Tally): void {
  let hasRunning = false;
  for (const status of (pod.status.containerStatuses ?? []).toReversed()) {
    countRestarts(tally, status);
    if (status.state.waiting?.reason) tally.reason = status.state.waiting.reason;
    else if (status.state.terminated !== undefined) tally.reason = terminatedReason(status.state.terminated);
    else if (status.ready && status.state.running !== undefined) {
      hasRunning = true;
      tally.ready += 1;
    }
  }
  if (tally.reason === 'Completed' && hasRunning) {
    tally.reason = conditionIsTrue(pod, 'Ready') ? 'Running' : 'NotReady';
  }
}

function countRestarts(tally: Tally, status: ContainerStatus): void {
  tally.restarts += status.restartCount;
  const finished = status.lastState.terminated?.finishedAt;
  if (finished !== undefined && (parseTime(finished) ?? 0) > timeOf(tally.lastRestart)) tally.lastRestart = finished;
}

const timeOf = (time: string | undefined): number => (time === undefined ? 0 : (parseTime(time) ?? 0));

function restartsText({ restarts, lastRestart }: Tally, now: number): string {
  return restarts !== 0 && lastRestart !== undefined ? `${restarts} (${ageOf(lastRestart, now)} ago)` : `${restarts}`;
}

/** The pods of a partitioned node show NodeDown instead of their last known state or Terminating. */
function finalReason(pod: Readonly<Pod>, reason: string): string {
  const isTerminal = isPodFinished(pod);
  if (!isTerminal && conditionIsTrue(pod, 'NodeDown')) return 'NodeDown';
  if (!isTerminating(pod)) return reason;
  if (pod.status.reason === 'NodeLost') return 'Unknown';
  return isTerminal ? reason : 'Terminating';
}

const conditionIsTrue = (pod: Readonly<Pod>, type: string): boolean =>
  pod.status.conditions?.some((condition) => condition.type === type && condition.status === 'True') === true;
