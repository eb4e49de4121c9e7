import { isFinishedPhase, isPodFinished, isTerminating, type Pod } from '@holdfast/api';
import { Causes, type EventRecorder, revisionOf, TransportError } from '@holdfast/client';
import { StatusError } from '@holdfast/machinery';
import { invariant, NO_TRACER, type Timer } from '@holdfast/platform';
import { LastWords } from '../container/container-files.ts';
import { ContainerStarter, type ContainerStarterDeps } from '../container/container-starter.ts';
import { applyStop, type ContainerManager, type StopTask } from '../container/container-stop.ts';
import { createPodEvents, type TellPod } from '../container/pod-events.ts';
import { createProber, type Prober } from '../container/prober.ts';
import { decidePod } from '../domain/decide-pod.ts';
import {
  forgetContainers,
  INITIAL_MEMORY,
  type PodAction,
  type PodFailure,
  type PodMemory,
} from '../domain/pod-worker-types.ts';
import { allContainers } from '../domain/records.ts';
import { POD_RETRY_INITIAL_MS, POD_RETRY_MAX_MS, STOP_RETRY_MS } from '../limits.ts';
import { RuntimeError, type SandboxStatus } from '../runtime/port.ts';
import type { ProbeMetrics } from '../stats/probe-metrics.ts';
import { claimNamesOf, isOver } from '../volumes/volume-attachments.ts';
import type { VolumeUse } from '../volumes/volume-reclaimer.ts';
import type { PodIdentity, PodObject } from './pod-object.ts';

export interface PodWorkerDeps extends Omit<ContainerStarterDeps, 'tell' | 'remember' | 'wake'> {
  readonly probeMetrics?: ProbeMetrics | undefined;
  readonly events: EventRecorder;
  readonly object: PodObject;
  readonly containerManager?: ContainerManager | undefined;
  /** Another UID of this name has, or may have, processes here. */
  readonly nameIsTaken: (worker: PodWorker) => boolean;
  /** Called after the pod's state on the node changed, and when the worker ended. */
  readonly onSettled: (worker: PodWorker) => void;
}

/** The knowledge about the object: `unverified` requires a read from the API before any decision. */
type Knowledge =
  /** In doubt, a cache may still tell of the past: what it offers counts after the read. */
  | { readonly kind: 'unverified'; readonly isDoubted?: true; readonly offered?: Pod }
  | { readonly kind: 'absent' }
  | { readonly kind: 'pod'; readonly pod: Pod };

/**
 * One UID: observes, decides and applies, one pass at a time, until nothing of it is left. Events, timers and finished
 * background stops only trigger another pass.
 */
export class PodWorker {
  readonly identity: PodIdentity;
  readonly #deps: PodWorkerDeps;
  readonly #prober: Prober;
  readonly #stops = new Map<string, StopTask>();
  readonly #starter: ContainerStarter;
  readonly #lastWords = new LastWords();
  readonly #event: TellPod;
  #knowledge: Knowledge = { kind: 'unverified' };
  #memory: PodMemory = INITIAL_MEMORY;
  #sandboxes: readonly SandboxStatus[] | undefined;
  #wanted = false;
  readonly #causes: Causes | undefined;
  /** What the passes work on, until one finds nothing to do. */
  #caused: readonly string[] = [];
  #running: Promise<void> | undefined;
  #timer: Timer | undefined;
  #failures = 0;
  #ended = false;
  readonly #endings: (() => void)[] = [];

  constructor(deps: PodWorkerDeps, identity: PodIdentity) {
    this.#deps = deps;
    this.#causes = deps.tracer === undefined ? undefined : new Causes(deps.tracer);
    this.identity = identity;
    this.#event = createPodEvents(deps.events);
    this.#starter = new ContainerStarter({
      ...deps,
      tell: this.#event,
      remember: (change) => {
        this.#memory = change(this.#memory);
      },
      wake: () => this.wake(),
    });
    this.#prober = createProber({
      ...deps,
      onResult: () => this.wake(),
      onFailure: (pod, container, message) =>
        this.#event(pod, { type: 'Warning', reason: 'Unhealthy', message, container }),
      onWarning: (pod, container, message) =>
        this.#event(pod, { type: 'Warning', reason: 'ProbeWarning', message, container }),
    });
  }

  /** A newer view of the object; older ones are ignored. */
  offer(pod: Pod): void {
    const { uid } = this.identity;
    invariant((pod.metadata.uid ?? '') === uid, 'a worker has the pod of one uid', { uid, offered: pod.metadata.uid });
    const known = this.#knowledge;
    if (known.kind === 'absent') return;
    if (known.kind === 'unverified' && known.isDoubted === true) {
      this.#knowledge = { ...known, offered: newerOf(known.offered, pod) };
      return;
    }
    if (known.kind === 'pod' && revisionOf(known.pod) >= revisionOf(pod)) return;
    this.#knowledge = { kind: 'pod', pod };
    this.#causes?.note(uid);
    this.wake();
  }

  /** A cache lost sight of the object: only the API itself may say that it is gone. */
  doubt(): void {
    if (this.#knowledge.kind === 'absent') return;
    this.#knowledge = { kind: 'unverified', isDoubted: true };
    this.wake();
  }

  wake(): void {
    if (this.#ended) return;
    this.#wanted = true;
    this.#running ??= this.#run().finally(() => {
      this.#running = undefined;
      if (this.#wanted) this.wake();
    });
  }

  hasEnded(): boolean {
    return this.#ended;
  }

  /** False only when it was seen that nothing of this pod exists on the node. */
  mayHaveProcesses(): boolean {
    return !this.#ended && (this.#sandboxes === undefined || this.#sandboxes.length > 0);
  }

  /** False only when it was seen that nothing of this pod can use the volume. */
  mayUse({ uid, namespace, claim }: VolumeUse): boolean {
    if (!this.mayHaveProcesses()) return false;
    const isUsed = this.#starter.usesDirectory(uid);
    if (isUsed !== undefined) return isUsed;
    const known = this.#knowledge;
    return this.identity.namespace === namespace && (known.kind !== 'pod' || claimNamesOf(known.pod).includes(claim));
  }

  /** The pod, while something of it is or may still come to be here. */
  active(): Pod | undefined {
    const known = this.#knowledge;
    if (known.kind !== 'pod' || this.#ended || !this.mayHaveProcesses()) return undefined;
    return isPodFinished(known.pod) ? undefined : known.pod;
  }

  /** The node cannot keep it. Resolves when nothing of it runs and its object has the reason, or when it is gone. */
  end(failure: PodFailure): Promise<void> {
    this.#memory = { ...this.#memory, rejected: failure };
    return new Promise((resolve) => {
      this.#endings.push(resolve);
      this.wake();
      if (this.#ended) this.#tellEnd();
    });
  }

  /** As `end`, on a machine that the API refuses: a pod with an unknown object ends as if it were gone. */
  displace(failure: PodFailure): Promise<void> {
    if (this.#knowledge.kind === 'unverified') this.#knowledge = { kind: 'absent' };
    return this.end(failure);
  }

  #tellEnd(): void {
    if (this.active() !== undefined && !this.#ended) return;
    for (const resolve of this.#endings.splice(0)) resolve();
  }

  isKnownToApi(): boolean {
    return this.#knowledge.kind === 'pod';
  }

  /** Containers run on. */
  async stop(): Promise<void> {
    this.#ended = true;
    this.#timer?.cancel();
    this.#prober.stop();
    for (const stop of this.#stops.values()) stop.abandon();
    this.#tellEnd();
    await this.#starter.stop();
    await this.#running;
  }

  async #run(): Promise<void> {
    while (this.#wanted && !this.#ended) {
      this.#wanted = false;
      this.#timer?.cancel();
      try {
        await this.#tracedPass();
        this.#failures = 0;
        this.#tellEnd();
      } catch (error) {
        this.#retryLater(error);
      }
    }
  }

  #tracedPass(): Promise<void> {
    const { tracer = NO_TRACER } = this.#deps;
    const { namespace, name, uid } = this.identity;
    const attributes = { 'holdfast.key': `${namespace}/${name}`, 'holdfast.pod.uid': uid };
    const newer = this.#causes?.take(uid) ?? [];
    if (newer.length > 0) this.#caused = newer;
    const causes = this.#caused;
    return tracer.span('sync pod', { kind: 'internal', root: true, causes, attributes }, () => this.#pass());
  }

  #tracedStart(action: Extract<PodAction, { kind: 'startContainer' }>, pod: Pod): Promise<void> {
    const { tracer = NO_TRACER } = this.#deps;
    const { namespace, name } = this.identity;
    const attributes = { 'holdfast.key': `${namespace}/${name}`, 'holdfast.container': action.container.name };
    const start = () => this.#starter.startContainer(action, pod, this.#sandboxes ?? []);
    return tracer.span('start container', { kind: 'internal', attributes }, start);
  }

  async #pass(): Promise<void> {
    if (this.#knowledge.kind === 'unverified') {
      await this.#verify();
      this.#deps.onSettled(this);
    }
    const { runtime, clock, node } = this.#deps;
    const { uid } = this.identity;
    const before = this.#sandboxes?.length;
    const listed = (await runtime.list({ podUid: uid })).toSorted((a, b) => a.config.attempt - b.config.attempt);
    const sandboxes =
      this.#knowledge.kind === 'pod' ? await this.#lastWords.addTo(this.#knowledge.pod, listed) : listed;
    this.#sandboxes = sandboxes;
    if (before !== sandboxes.length) this.#deps.onSettled(this);
    // Doubt arose while the runtime responded: nothing counts as gone before the API confirms it.
    if (this.#knowledge.kind === 'unverified') {
      this.#wanted = true;
      return;
    }
    const pod = this.#knowledge.kind === 'pod' ? this.#knowledge.pod : undefined;
    // Before the node reports that it does not use the volumes any more.
    if (isOver(pod, sandboxes)) await this.#starter.unmount(pod, uid);
    this.#keepShare(pod, sandboxes);
    this.#endWaits(sandboxes);
    this.#memory = { ...forgetContainers(this.#memory, sandboxes), probes: this.#prober.observe(pod, sandboxes) };
    if (pod !== undefined) this.#starter.offer(pod);
    const observation = { uid, pod, sandboxes, nameIsTaken: this.#deps.nameIsTaken(this), node };
    const decision = decidePod(observation, this.#memory, clock.now());
    this.#memory = decision.memory;
    if (decision.actions.length === 0) this.#caused = [];
    for (const action of decision.actions) {
      if (this.#ended) return;
      await this.#apply(action, pod);
    }
    if (decision.wakeAfterMs !== undefined && !this.#wanted) this.#wakeIn(decision.wakeAfterMs);
  }

  async #apply(action: PodAction, pod: Pod | undefined): Promise<void> {
    const { runtime } = this.#deps;
    switch (action.kind) {
      case 'confirm':
        return this.#confirm();
      case 'runSandbox':
        return pod === undefined ? undefined : this.#changed(this.#starter.runSandbox(action.attempt, pod));
      case 'startContainer':
        return pod === undefined ? undefined : this.#changed(this.#tracedStart(action, pod));
      case 'stopContainer':
        return this.#stopContainer(action, pod);
      case 'removeContainer':
        return runtime.removeContainer(action.id);
      case 'stopSandbox':
        return this.#changed(runtime.stopSandbox(action.id, 0));
      case 'removeSandbox':
        return this.#changed(this.#removeSandbox(action.id, pod));
      case 'writeStatus':
        return this.#writeStatus(action, pod);
      case 'event':
        return this.#event(pod, action);
      case 'deletePod':
        return this.#deletePod(pod);
      case 'forget':
        return this.#forget();
    }
  }

  /** The directories of the volumes end with the last sandbox. */
  async #removeSandbox(id: string, pod: Pod | undefined): Promise<void> {
    const isEnding = pod === undefined || isTerminating(pod);
    if (isEnding || this.#sandboxes?.length === 1) await this.#starter.unmount(pod, this.identity.uid);
    await this.#deps.runtime.removeSandbox(id);
  }

  async #changed(work: Promise<unknown>): Promise<void> {
    await work;
    this.#wanted = true;
  }

  async #verify(): Promise<void> {
    const { uid } = this.identity;
    const found = await this.#deps.object.read(this.identity);
    const known = this.#knowledge;
    if (known.kind === 'absent') return;
    if (found?.metadata.uid !== uid) this.#knowledge = { kind: 'absent' };
    else this.#knowledge = { kind: 'pod', pod: newerOf(known.kind === 'pod' ? known.pod : known.offered, found) };
  }

  async #confirm(): Promise<void> {
    await this.#verify();
    const known = this.#knowledge;
    const mayRun = known.kind === 'pod' && !isTerminating(known.pod);
    const rejected = mayRun ? await this.#deps.admission.admit(known.pod) : undefined;
    this.#memory = { ...this.#memory, confirmed: mayRun && rejected === undefined, rejected };
    this.#wanted = true;
  }

  /** A pod with anything here holds its share of the node. Its share is released before its end is reported. */
  #keepShare(pod: Pod | undefined, sandboxes: readonly SandboxStatus[]): void {
    const { admission, attachments, ranges } = this.#deps;
    ranges.hold(sandboxes);
    attachments?.observe(this.identity.uid, pod, sandboxes);
    if (pod === undefined || isPodFinished(pod)) admission.release(this.identity.uid);
    else if (sandboxes.length > 0) admission.hold(pod);
  }

  /** In the background: a stop may take its whole grace period, which may still be shortened. */
  #stopContainer(action: Extract<PodAction, { kind: 'stopContainer' }>, pod: Pod | undefined): void {
    const { id } = action;
    const running = this.#stops.get(id);
    if (running !== undefined) {
      running.shorten(action.graceSeconds);
      if (action.waits !== true) running.mayTerminate();
      return;
    }
    this.#event(pod, { type: 'Normal', reason: 'Killing', message: action.message, container: action.name });
    const spec = pod === undefined ? undefined : allContainers(pod).find(({ name }) => name === action.name);
    const podIp = this.#sandboxes?.at(-1)?.ip ?? '';
    const task = applyStop(
      {
        ...this.#deps,
        onHookFailure: (message) => this.#event(pod, hookFailure(message, action.name)),
        onHttpFallback: (message) => this.#event(pod, { type: 'Warning', reason: 'LifecycleHTTPFallback', message }),
      },
      { id, graceSeconds: action.graceSeconds, container: spec, podIp, waits: action.waits === true },
    );
    this.#stops.set(id, task);
    void task.done
      .catch((error: unknown) => this.#stopFailed(id, error))
      .finally(() => {
        this.#stops.delete(id);
        this.wake();
      });
  }

  /** A container that ended before its turn is not decided about any more: its stop would wait for ever. */
  #endWaits(sandboxes: readonly SandboxStatus[]): void {
    for (const { id, state } of sandboxes.flatMap(({ containers }) => containers))
      if (state === 'exited') this.#stops.get(id)?.mayTerminate();
  }

  /** The container may live: it counts as alive until a later stop is confirmed. */
  #stopFailed(id: string, error: unknown): void {
    if (this.#ended) return;
    this.#deps.log.warn('container not stopped', { pod: this.identity, container: id, error });
    const { [id]: _failed, ...stopping } = this.#memory.stopping;
    const stopRetryAt = { ...this.#memory.stopRetryAt, [id]: this.#deps.clock.now() + STOP_RETRY_MS };
    this.#memory = { ...this.#memory, stopping, stopRetryAt };
  }

  /** After a conflict the next pass decides with the newer object. */
  async #writeStatus(action: Extract<PodAction, { kind: 'writeStatus' }>, pod: Pod | undefined): Promise<void> {
    if (pod === undefined) return;
    const { uid } = this.identity;
    if (isFinishedPhase(action.status.phase)) this.#deps.admission.release(uid);
    try {
      const written = await this.#deps.object.writeStatus(pod, action.status);
      const { resourceVersion } = written.metadata;
      this.#memory = { ...this.#memory, acknowledged: { status: action.status, resourceVersion } };
      if (this.#knowledge.kind !== 'pod' || revisionOf(this.#knowledge.pod) <= revisionOf(written))
        this.#knowledge = { kind: 'pod', pod: written };
      this.#wanted = true;
    } catch (error) {
      if (!(error instanceof StatusError && (error.code === 404 || error.code === 409))) throw error;
      await this.#verify();
      this.#wanted = true;
    }
  }

  async #deletePod(pod: Pod | undefined): Promise<void> {
    if (pod === undefined) return;
    try {
      await this.#deps.object.remove(this.identity);
    } catch (error) {
      if (!(error instanceof StatusError && error.code === 404)) {
        // Also after a conflict, which may mean another pod of this name or only a busy object: observe, then retry.
        this.#memory = { ...this.#memory, deleteRequested: false };
        if (error instanceof StatusError && error.code === 409) this.doubt();
        throw error;
      }
    }
    this.doubt();
  }

  #forget(): void {
    this.#deps.probeMetrics?.forget(this.identity.uid);
    this.#ended = true;
    this.#timer?.cancel();
    this.#deps.admission.release(this.identity.uid);
    this.#deps.attachments?.observe(this.identity.uid, undefined, []);
    this.#deps.ranges.release(this.identity.uid);
    this.#prober.stop();
    void this.#starter.stop();
    this.#deps.onSettled(this);
  }

  #retryLater(error: unknown): void {
    if (this.#ended) return;
    const delayMs = Math.min(POD_RETRY_INITIAL_MS * 2 ** this.#failures, POD_RETRY_MAX_MS);
    this.#failures++;
    const expected = error instanceof TransportError || error instanceof RuntimeError || error instanceof StatusError;
    if (expected) this.#deps.log.warn('pod not synced, will retry', { pod: this.identity, delayMs, error });
    else this.#deps.log.error('pod worker failed', { pod: this.identity, delayMs, error });
    this.#wanted = false;
    this.#wakeIn(delayMs);
  }

  #wakeIn(delayMs: number): void {
    this.#timer?.cancel();
    this.#timer = this.#deps.clock.timer(delayMs, () => this.wake());
  }
}

const hookFailure = (message: string, container: string) =>
  ({ type: 'Warning', reason: 'FailedPreStopHook', message, container }) as const;

/** The second of two of the same revision. */
const newerOf = (known: Pod | undefined, pod: Pod): Pod =>
  known !== undefined && revisionOf(known) > revisionOf(pod) ? known : pod;
