import type { Container, Pod } from '@holdfast/api';
import { ownValue } from '@holdfast/machinery';
import { parseTime } from '@holdfast/platform';
import type { SandboxStatus } from '../runtime/port.ts';
import { nextBackOff, untilRetry } from './back-off.ts';
import { isStarted } from './container-status.ts';
import { decideKill } from './decide-kill.ts';
import { containerGrace, effectivePodGrace, type KillCause } from './grace.ts';
import { podStatus, writeIfChanged } from './pod-status.ts';
import type { Decision, PodAction, PodMemory, PodObservation } from './pod-worker-types.ts';
import { allContainers, type ContainerLife, latestLife, livesOf } from './records.ts';
import { appsAreDone, backOffOf, initHasFailed, isOutdated, lifeLookup, restartVerdict, roleOf } from './restart.ts';

interface At {
  readonly memory: PodMemory;
  readonly now: number;
}

/** A pod that is to run: brings it forward by what is possible now. */
export function decideActive(observation: PodObservation, pod: Pod, at: At): Decision {
  const { sandboxes } = observation;
  const lifeOf = lifeLookup(pod, sandboxes);
  if (appsAreDone(pod, lifeOf, at.memory) || initHasFailed(pod, lifeOf)) return decideComplete(observation, pod, at);
  const hasRunHere = sandboxes.some((sandbox) => sandbox.containers.some(({ startedAt }) => startedAt !== undefined));
  if (observation.nameIsTaken && !hasRunHere) return report(observation, pod, at);
  if (!at.memory.confirmed && !hasRunHere)
    return { actions: [{ kind: 'confirm' }], memory: at.memory, wakeAfterMs: undefined };
  const current = sandboxes.at(-1);
  if (current?.state !== 'ready') return startSandbox(observation, pod, at);
  const steps = new Steps(observation, pod, { ...at, current });
  steps.plan();
  const actions = [...steps.others, ...steps.starts];
  if (steps.starts.length > 0) return { actions, memory: steps.memory, wakeAfterMs: undefined };
  const told = report(observation, pod, { memory: steps.memory, now: at.now });
  return {
    ...told,
    actions: [...actions, ...told.actions, ...steps.removals],
    wakeAfterMs: earliest(told.wakeAfterMs, steps.wakeAfterMs),
  };
}

/** Its main containers are done: sidecars end, then the phase is set. */
function decideComplete(observation: PodObservation, pod: Pod, { memory, now }: At): Decision {
  const graceSeconds = effectivePodGrace(memory.graceSeconds, pod);
  const ending = { ...memory, graceSeconds, terminationStartedAt: memory.terminationStartedAt ?? now };
  const kill = decideKill(observation, pod, { memory: ending, now });
  if (!kill.allDead) return kill;
  const told = report(observation, pod, { memory: kill.memory, now });
  return { ...told, actions: [...kill.actions, ...told.actions] };
}

/** A pod's sandbox that was stopped (the machine went down) is replaced; its init containers run again in the new one. */
function startSandbox(observation: PodObservation, pod: Pod, at: At): Decision {
  const waitMs = untilRetry(at.memory.failures['']?.retryAt, at.now);
  if (waitMs > 0) {
    const told = report(observation, pod, at);
    return { ...told, wakeAfterMs: earliest(told.wakeAfterMs, waitMs) };
  }
  const attempt = (observation.sandboxes.at(-1)?.config.attempt ?? -1) + 1;
  return { actions: [{ kind: 'runSandbox', attempt }], memory: at.memory, wakeAfterMs: undefined };
}

function report(observation: PodObservation, pod: Pod, { memory, now }: At): Decision {
  const { sandboxes, node } = observation;
  const context = { pod, sandboxes, memory, now, stage: 'active', runtimeName: node.runtimeName } as const;
  const status = podStatus(context, node);
  return { actions: writeIfChanged(pod, status, memory), memory, wakeAfterMs: untilDeadline(pod, now) };
}

function untilDeadline(pod: Pod, now: number): number | undefined {
  const { activeDeadlineSeconds } = pod.spec;
  const startedAt = pod.status.startTime === undefined ? undefined : parseTime(pod.status.startTime);
  if (activeDeadlineSeconds === undefined || startedAt === undefined) return undefined;
  return Math.max(0, startedAt + activeDeadlineSeconds * 1000 - now);
}

const earliest = (a: number | undefined, b: number | undefined): number | undefined =>
  a === undefined ? b : b === undefined ? a : Math.min(a, b);

/** Walks the containers in order and collects what can be done now. */
class Steps {
  /** Actions that start something; the status is written after them. */
  readonly starts: PodAction[] = [];
  /** Stops and events. The memory has them as done, so they come with the starts of their pass. */
  readonly others: PodAction[] = [];
  /** The last of a pass: one that fails keeps nothing else from being done. */
  readonly removals: PodAction[] = [];
  memory: PodMemory;
  wakeAfterMs: number | undefined;
  readonly #observation: PodObservation;
  readonly #pod: Pod;
  readonly #now: number;
  readonly #current: SandboxStatus;
  /** A container in front of the next ones has a postStart hook that has not ended: none of them starts before. */
  #isHeld = false;

  constructor(observation: PodObservation, pod: Pod, at: At & { readonly current: SandboxStatus }) {
    this.#observation = observation;
    this.#pod = pod;
    this.#now = at.now;
    this.#current = at.current;
    this.memory = at.memory;
  }

  plan(): void {
    const { containers, initContainers = [], ephemeralContainers = [] } = this.#pod.spec;
    // Before all others: they may be there to find out why those do not start.
    for (const container of ephemeralContainers) this.#keepRunning(container, this.#lifeOf(container));
    if (this.#initPhase(initContainers)) {
      for (const container of containers) this.#inOrder(container, this.#lifeOf(container));
    }
    for (const container of allContainers(this.#pod)) this.#removeOld(container);
  }

  /** True when the app containers may run. */
  #initPhase(initContainers: readonly Container[]): boolean {
    const appStartedHere = this.#pod.spec.containers.some(({ name }) => livesOf(name, [this.#current]).length > 0);
    for (const container of initContainers) {
      const role = roleOf(container, this.#pod);
      const life = livesOf(container.name, [this.#current])[0];
      if (role === 'sidecar') {
        this.#inOrder(container, life);
        if (!appStartedHere && !isStarted(container, life, this.memory)) return false;
        continue;
      }
      if (appStartedHere || (life?.state === 'exited' && life.exitCode === 0)) continue;
      this.#keepRunning(container, life);
      return false;
    }
    return true;
  }

  /** As Kubernetes does, which runs a hook before it starts the next container. */
  #inOrder(container: Container, life: ContainerLife | undefined): void {
    const startsBefore = this.starts.length;
    this.#keepRunning(container, life);
    const isStarting = this.starts.length > startsBefore && container.lifecycle?.postStart !== undefined;
    const isHooked = life?.state === 'running' && this.memory.postStart[life.id] === 'running';
    this.#isHeld ||= isStarting || isHooked;
  }

  #keepRunning(container: Container, life: ContainerLife | undefined): void {
    if (life?.state === 'running') {
      this.#killUnfit(container, life);
      return;
    }
    if (this.#isHeld) return;
    const failure = ownValue(this.memory.failures, container.name);
    const isOfOtherImage = failure?.image !== undefined && failure.image !== container.image;
    const waitMs = isOfOtherImage ? 0 : untilRetry(failure?.retryAt, this.#now);
    if (waitMs > 0) {
      this.#wakeIn(waitMs);
      return;
    }
    if (life === undefined || life.state === 'created')
      this.#start(container, life?.restartCount ?? this.#nextCount(container));
    else this.#restart(container, life);
  }

  #restart(container: Container, life: ContainerLife): void {
    const verdict = restartVerdict(container, this.#pod, life, { memory: this.memory, now: this.#now });
    if (verdict.kind === 'never') return;
    const before = backOffOf(container, life, this.memory);
    if (verdict.kind === 'now') {
      this.#setBackOff(container, nextBackOff(before, life.finishedAt, this.#now));
      this.#start(container, this.#nextCount(container));
      return;
    }
    this.#wakeIn(verdict.delayMs);
    if (before === undefined || before.announcedFor === life.id) return;
    this.#setBackOff(container, { ...before, announcedFor: life.id });
    const { name = '', namespace = '', uid = '' } = this.#pod.metadata;
    this.others.push({
      kind: 'event',
      type: 'Warning',
      reason: 'BackOff',
      message: `Back-off restarting failed container ${container.name} in pod ${name}_${namespace}(${uid})`,
      container: container.name,
    });
  }

  #killUnfit(container: Container, life: ContainerLife): void {
    const graceSeconds = this.#pod.spec.terminationGracePeriodSeconds ?? 0;
    if (this.memory.postStart[life.id] === 'failed') {
      this.#stop(container, life, { kind: 'pod', graceSeconds }, 'FailedPostStartHook');
      return;
    }
    if (isOutdated(container, this.#pod, life)) {
      const message = `Container ${container.name} definition changed, will be restarted`;
      this.#replace(container, life, { kind: 'pod', graceSeconds }, message);
      return;
    }
    const results = this.memory.probes[life.id];
    const failed =
      results?.startup === 'failure' ? 'startup' : results?.liveness === 'failure' ? 'liveness' : undefined;
    if (failed === undefined) return;
    const cause = { kind: `${failed}Probe`, container: container.name } as const;
    this.#stop(container, life, cause, `Container ${container.name} failed ${failed} probe, will be restarted`);
  }

  #replace(container: Container, life: ContainerLife, cause: KillCause, message: string): void {
    if (this.memory.stopping[life.id] !== undefined) return;
    this.#stop(container, life, cause, message);
    if (this.memory.stopping[life.id] === undefined) return;
    this.memory = { ...this.memory, replaced: { ...this.memory.replaced, [life.id]: true } };
  }

  #stop(container: Container, life: ContainerLife, cause: KillCause, message: string): void {
    if (this.memory.stopping[life.id] !== undefined) return;
    const retryInMs = untilRetry(this.memory.stopRetryAt[life.id], this.#now);
    if (retryInMs > 0) {
      this.#wakeIn(retryInMs);
      return;
    }
    const graceSeconds = containerGrace(this.#pod, cause);
    this.memory = { ...this.memory, stopping: { ...this.memory.stopping, [life.id]: graceSeconds } };
    this.others.push({ kind: 'stopContainer', id: life.id, name: container.name, graceSeconds, message });
  }

  #start(container: Container, restartCount: number): void {
    this.starts.push({ kind: 'startContainer', sandboxId: this.#current.id, container, restartCount });
  }

  /** Above everything the runtime or the API ever counted: a count never goes back. */
  #nextCount(container: Container): number {
    const life = latestLife(container, this.#pod, this.#observation.sandboxes);
    return life === undefined ? 0 : life.restartCount + 1;
  }

  #lifeOf(container: Container): ContainerLife | undefined {
    return latestLife(container, this.#pod, this.#observation.sandboxes);
  }

  #setBackOff(container: Container, backOff: PodMemory['backOff'][string]): void {
    this.memory = { ...this.memory, backOff: { ...this.memory.backOff, [container.name]: backOff } };
  }

  #removeOld({ name }: Container): void {
    const { sandboxes, node } = this.#observation;
    for (const life of livesOf(name, sandboxes).slice(1 + (node.keptLives ?? 1))) {
      if (life.state === 'exited') this.removals.push({ kind: 'removeContainer', id: life.id });
    }
  }

  #wakeIn(delayMs: number): void {
    this.wakeAfterMs = earliest(this.wakeAfterMs, delayMs);
  }
}
