import { type Container, PODS, type Pod } from '@holdfast/api';
import { type ApiClient, type EventRecorder, revisionOf, TransportError } from '@holdfast/client';
import { StatusError } from '@holdfast/machinery';
import { type Clock, describeError, type Log, type Timer } from '@holdfast/platform';
import { type ContainerConfigDeps, containerConfig } from './container-config.ts';
import { applyStop, type StopTask } from './container-stop.ts';
import { decidePod } from './domain/decide-pod.ts';
import { ContainerConfigError } from './domain/environment.ts';
import {
  forgetContainers,
  INITIAL_MEMORY,
  type NodeFacts,
  type PodAction,
  type PodMemory,
} from './domain/pod-worker-types.ts';
import { notEnforced, sandboxRefusal } from './domain/refusals.ts';
import { statusPatch } from './domain/status-patch.ts';
import { VolumeError } from './domain/volume-files.ts';
import { runHook } from './hooks.ts';
import {
  POD_RETRY_INITIAL_MS,
  POD_RETRY_MAX_MS,
  POST_START_TIMEOUT_MS,
  START_RETRY_MS,
  STOP_RETRY_MS,
  VOLUME_RETRY_INITIAL_MS,
} from './limits.ts';
import { PodVolumes } from './pod-volumes.ts';
import type { ProbeNetwork } from './probe-network.ts';
import { createProber, type Prober } from './prober.ts';
import { type ContainerRuntime, RuntimeError, type SandboxStatus } from './runtime/port.ts';

export interface PodWorkerDeps {
  readonly client: ApiClient;
  readonly runtime: ContainerRuntime;
  readonly events: EventRecorder;
  readonly clock: Clock;
  readonly log: Log;
  readonly node: NodeFacts;
  readonly nodeName: string;
  readonly allocatable: Readonly<Record<string, string>>;
  readonly network: ProbeNetwork;
  /** Another UID of this name still has, or may have, processes here. */
  readonly nameIsTaken: (worker: PodWorker) => boolean;
  /** Told after what exists of this pod on the node changed, and when the worker ended. */
  readonly onSettled: (worker: PodWorker) => void;
}

export interface PodIdentity {
  readonly uid: string;
  readonly namespace: string;
  readonly name: string;
}

/** What is known of the object: `unverified` asks the API before anything is decided. */
type Knowledge =
  | { readonly kind: 'unverified' }
  | { readonly kind: 'absent' }
  | { readonly kind: 'pod'; readonly pod: Pod };

/**
 * One UID: observes, decides, applies, one pass at a time, until nothing of it is left. Events, timers and the ends of
 * background stops only ask for another pass.
 */
export class PodWorker {
  readonly identity: PodIdentity;
  readonly #deps: PodWorkerDeps;
  readonly #prober: Prober;
  readonly #stops = new Map<string, StopTask>();
  /** Absent where the runtime only pretends. */
  readonly #volumes: PodVolumes | undefined;
  #volumeFailures = 0;
  #knowledge: Knowledge = { kind: 'unverified' };
  #memory: PodMemory = INITIAL_MEMORY;
  #sandboxes: readonly SandboxStatus[] | undefined;
  #wanted = false;
  #running: Promise<void> | undefined;
  #timer: Timer | undefined;
  #failures = 0;
  #ended = false;

  constructor(deps: PodWorkerDeps, identity: PodIdentity) {
    this.#deps = deps;
    this.identity = identity;
    this.#volumes = this.#createVolumes();
    this.#prober = createProber({
      ...deps,
      onResult: () => this.wake(),
      onFailure: (pod, container, message) =>
        this.#event(pod, { type: 'Warning', reason: 'Unhealthy', message, container }),
    });
  }

  #createVolumes(): PodVolumes | undefined {
    const { runtime, client, clock, allocatable, node } = this.#deps;
    const { abilities } = runtime;
    if (abilities === undefined) return undefined;
    const onFailure = (pod: Pod, message: string): void =>
      this.#event(pod, { type: 'Warning', reason: 'FailedMount', message });
    return new PodVolumes({ client, clock, abilities, allocatable, hostIp: node.address, onFailure });
  }

  /** A newer view of the object; older ones are ignored. */
  offer(pod: Pod): void {
    const known = this.#knowledge;
    if (known.kind === 'absent') return;
    if (known.kind === 'pod' && revisionOf(known.pod) >= revisionOf(pod)) return;
    this.#knowledge = { kind: 'pod', pod };
    this.wake();
  }

  /** A cache lost sight of the object: only the API itself may say that it is gone. */
  doubt(): void {
    if (this.#knowledge.kind === 'absent') return;
    this.#knowledge = { kind: 'unverified' };
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

  isKnownToApi(): boolean {
    return this.#knowledge.kind === 'pod';
  }

  /** Containers run on. */
  async stop(): Promise<void> {
    this.#ended = true;
    this.#timer?.cancel();
    this.#prober.stop();
    for (const stop of this.#stops.values()) stop.abandon();
    await this.#volumes?.stop();
    await this.#running;
  }

  async #run(): Promise<void> {
    while (this.#wanted && !this.#ended) {
      this.#wanted = false;
      this.#timer?.cancel();
      try {
        await this.#pass();
        this.#failures = 0;
      } catch (error) {
        this.#retryLater(error);
      }
    }
  }

  async #pass(): Promise<void> {
    if (this.#knowledge.kind === 'unverified') {
      await this.#verify();
      this.#deps.onSettled(this);
    }
    const { runtime, clock, node } = this.#deps;
    const { uid } = this.identity;
    const before = this.#sandboxes?.length;
    const sandboxes = (await runtime.list({ podUid: uid })).toSorted((a, b) => a.config.attempt - b.config.attempt);
    this.#sandboxes = sandboxes;
    if (before !== sandboxes.length) this.#deps.onSettled(this);
    // Doubted while the runtime answered: nothing may be taken for gone before the API said so.
    if (this.#knowledge.kind === 'unverified') {
      this.#wanted = true;
      return;
    }
    const pod = this.#knowledge.kind === 'pod' ? this.#knowledge.pod : undefined;
    this.#memory = { ...forgetContainers(this.#memory, sandboxes), probes: this.#prober.observe(pod, sandboxes) };
    if (pod !== undefined) this.#volumes?.offer(pod);
    const observation = { uid, pod, sandboxes, nameIsTaken: this.#deps.nameIsTaken(this), node };
    const decision = decidePod(observation, this.#memory, clock.now());
    this.#memory = decision.memory;
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
        return this.#changed(this.#runSandbox(action.attempt, pod));
      case 'startContainer':
        return this.#changed(this.#startContainer(action, pod));
      case 'stopContainer':
        return this.#stopContainer(action, pod);
      case 'removeContainer':
        return runtime.removeContainer(action.id);
      case 'stopSandbox':
        return this.#changed(runtime.stopSandbox(action.id, 0));
      case 'removeSandbox':
        return this.#changed(runtime.removeSandbox(action.id));
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

  async #changed(work: Promise<unknown>): Promise<void> {
    await work;
    this.#wanted = true;
  }

  async #verify(): Promise<void> {
    const { uid, namespace, name } = this.identity;
    // Not a get: the name may belong to a pod of another node by now, which this node may not see. Nor would it matter: a pod
    // never leaves its node, so what is not listed here is gone.
    const fieldSelector = `metadata.name=${name},spec.nodeName=${this.#deps.nodeName}`;
    const [found] = (await this.#deps.client.list(PODS, { namespace, fieldSelector })).items;
    const known = this.#knowledge;
    if (known.kind === 'absent') return;
    if (found?.metadata.uid !== uid) this.#knowledge = { kind: 'absent' };
    else if (known.kind !== 'pod' || revisionOf(known.pod) <= revisionOf(found))
      this.#knowledge = { kind: 'pod', pod: found };
  }

  async #confirm(): Promise<void> {
    await this.#verify();
    const known = this.#knowledge;
    this.#memory = {
      ...this.#memory,
      confirmed: known.kind === 'pod' && known.pod.metadata.deletionTimestamp === undefined,
    };
    this.#wanted = true;
  }

  async #runSandbox(attempt: number, pod: Pod | undefined): Promise<void> {
    const { uid, namespace, name } = this.identity;
    const hostname = pod?.spec.hostname ?? name.slice(0, 63).replace(/[-.]+$/, '');
    try {
      const refusal = pod === undefined || this.#deps.runtime.abilities === undefined ? undefined : sandboxRefusal(pod);
      if (refusal !== undefined) throw new RuntimeError('Unsupported', refusal);
      await this.#deps.runtime.runSandbox({ podUid: uid, podName: name, podNamespace: namespace, hostname, attempt });
      this.#clearFailure('');
    } catch (error) {
      this.#startFailed('', 'FailedCreatePodSandBox', error);
      this.#event(pod, {
        type: 'Warning',
        reason: 'FailedCreatePodSandBox',
        message: `Failed to create pod sandbox: ${describeError(error)}`,
      });
    }
  }

  async #startContainer(action: Extract<PodAction, { kind: 'startContainer' }>, pod: Pod | undefined): Promise<void> {
    if (pod === undefined) return;
    const { runtime } = this.#deps;
    const { container, restartCount, sandboxId } = action;
    const { name } = container;
    try {
      const podIp = this.#sandboxes?.find(({ id }) => id === sandboxId)?.ip ?? '';
      const config = await containerConfig(this.#configDeps(pod, container, podIp), pod, container, {
        restartCount,
        podIp,
      });
      const image = container.image ?? '';
      const id = await runtime.createContainer(sandboxId, config);
      const pulled = `Container image "${image}" already present on machine`;
      this.#event(pod, { type: 'Normal', reason: 'Pulled', message: pulled, container: name });
      this.#event(pod, { type: 'Normal', reason: 'Created', message: `Created container: ${name}`, container: name });
      await runtime.startContainer(id);
      this.#clearFailure(name);
      this.#volumeFailures = 0;
      if (container.lifecycle?.postStart !== undefined) this.#runPostStart(id, { pod, container, podIp });
      this.#event(pod, { type: 'Normal', reason: 'Started', message: `Started container ${name}`, container: name });
      this.#tellNotEnforced(pod, container);
    } catch (error) {
      this.#containerFailed(pod, container, error);
    }
  }

  #configDeps(pod: Pod, container: Container, podIp: string): ContainerConfigDeps {
    const { runtime, client, allocatable, node } = this.#deps;
    const deps = { client, allocatable, hostIp: node.address, abilities: runtime.abilities };
    // Those of the first sandbox: a later one of the same pod finds what was written.
    const path = this.#sandboxes?.[0]?.volumesPath;
    const volumes = this.#volumes;
    if (volumes === undefined || path === undefined) return deps;
    return { ...deps, volumes: (environment) => volumes.prepare({ pod, path, podIp }, container, environment) };
  }

  #containerFailed(pod: Pod, container: Container, error: unknown): void {
    const { name } = container;
    const message = describeError(error);
    if (error instanceof VolumeError) {
      const waiting = (pod.spec.initContainers ?? []).length > 0 ? 'PodInitializing' : 'ContainerCreating';
      const retryMs = Math.min(VOLUME_RETRY_INITIAL_MS * 2 ** this.#volumeFailures, START_RETRY_MS);
      this.#volumeFailures++;
      this.#startFailed(name, waiting, error, retryMs);
      this.#event(pod, { type: 'Warning', reason: 'FailedMount', message });
      return;
    }
    this.#startFailed(name, reasonOf(error), error);
    this.#event(pod, { type: 'Warning', reason: 'Failed', message: `Error: ${message}`, container: name });
  }

  /** Nobody may believe that a limit or a restriction holds here when it does not. */
  #tellNotEnforced(pod: Pod, container: Container): void {
    if (this.#deps.runtime.abilities === undefined) return;
    const fields = notEnforced(pod, container);
    if (fields.length === 0) return;
    const message = `Not enforced for processes of this node: ${fields.join(', ')}`;
    this.#event(pod, { type: 'Warning', reason: 'NotEnforced', message, container: container.name });
  }

  /** In the background: a deletion must not wait for a hook that hangs. */
  #runPostStart(id: string, of: { readonly pod: Pod; readonly container: Container; readonly podIp: string }): void {
    const { pod, container, podIp } = of;
    const hook = container.lifecycle?.postStart;
    if (hook === undefined) return;
    this.#memory = { ...this.#memory, postStart: { ...this.#memory.postStart, [id]: 'running' } };
    const target = { id, podIp, ports: container.ports ?? [], timeoutMs: POST_START_TIMEOUT_MS };
    void runHook(this.#deps, hook, target)
      .then(
        () => {
          const { [id]: _done, ...postStart } = this.#memory.postStart;
          this.#memory = { ...this.#memory, postStart };
        },
        (error: unknown) => {
          this.#memory = { ...this.#memory, postStart: { ...this.#memory.postStart, [id]: 'failed' } };
          const message = `PostStartHook failed: ${describeError(error)}`;
          this.#event(pod, { type: 'Warning', reason: 'FailedPostStartHook', message, container: container.name });
        },
      )
      .finally(() => this.wake());
  }

  #startFailed(name: string, reason: string, error: unknown, retryMs = START_RETRY_MS): void {
    const failure = { reason, message: describeError(error), retryAt: this.#deps.clock.now() + retryMs };
    this.#memory = { ...this.#memory, failures: { ...this.#memory.failures, [name]: failure } };
    this.#deps.log.warn('container not started', { pod: this.identity, container: name, error });
  }

  #clearFailure(name: string): void {
    const { [name]: _cleared, ...failures } = this.#memory.failures;
    this.#memory = { ...this.#memory, failures };
  }

  /** In the background: a stop may take its whole grace, and the grace may still be shortened. */
  #stopContainer(action: Extract<PodAction, { kind: 'stopContainer' }>, pod: Pod | undefined): void {
    const { id } = action;
    const running = this.#stops.get(id);
    if (running !== undefined) {
      running.shorten(action.graceSeconds);
      return;
    }
    this.#event(pod, { type: 'Normal', reason: 'Killing', message: action.message, container: action.name });
    const spec = [...(pod?.spec.containers ?? []), ...(pod?.spec.initContainers ?? [])].find(
      ({ name }) => name === action.name,
    );
    const podIp = this.#sandboxes?.at(-1)?.ip ?? '';
    const task = applyStop(
      { ...this.#deps, onHookFailure: (message) => this.#event(pod, hookFailure(message, action.name)) },
      { id, graceSeconds: action.graceSeconds, container: spec, podIp },
    );
    this.#stops.set(id, task);
    void task.done
      .catch((error: unknown) => this.#stopFailed(id, error))
      .finally(() => {
        this.#stops.delete(id);
        this.wake();
      });
  }

  /** The container may live: it counts as alive until a later stop is confirmed. */
  #stopFailed(id: string, error: unknown): void {
    if (this.#ended) return;
    this.#deps.log.warn('container not stopped', { pod: this.identity, container: id, error });
    const { [id]: _failed, ...stopping } = this.#memory.stopping;
    const stopRetryAt = { ...this.#memory.stopRetryAt, [id]: this.#deps.clock.now() + STOP_RETRY_MS };
    this.#memory = { ...this.#memory, stopping, stopRetryAt };
  }

  /** On a conflict the next pass decides on the newer object. */
  async #writeStatus(action: Extract<PodAction, { kind: 'writeStatus' }>, pod: Pod | undefined): Promise<void> {
    if (pod === undefined) return;
    const { namespace, name } = this.identity;
    try {
      const body = statusPatch(pod, action.status);
      const written = await this.#deps.client.patch(
        PODS,
        { namespace, name },
        { type: 'merge', body, subresource: 'status' },
      );
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
    const { uid, namespace, name } = this.identity;
    try {
      await this.#deps.client.delete(PODS, { namespace, name }, { gracePeriodSeconds: 0, uid });
    } catch (error) {
      if (!(error instanceof StatusError && error.code === 404)) {
        // Also after a conflict, which may mean another pod of this name or only a busy object: look, then ask again.
        this.#memory = { ...this.#memory, deleteRequested: false };
        if (error instanceof StatusError && error.code === 409) this.doubt();
        throw error;
      }
    }
    this.doubt();
  }

  #forget(): void {
    this.#ended = true;
    this.#timer?.cancel();
    this.#prober.stop();
    void this.#volumes?.stop();
    this.#deps.onSettled(this);
  }

  #event(
    pod: Pod | undefined,
    event: { type: 'Normal' | 'Warning'; reason: string; message: string; container?: string },
  ): void {
    if (pod === undefined) return;
    const { type, reason, message, container } = event;
    const isInit = pod.spec.initContainers?.some(({ name }) => name === container) === true;
    const fieldPath =
      container === undefined ? undefined : `spec.${isInit ? 'initContainers' : 'containers'}{${container}}`;
    this.#deps.events.event(pod, { type, reason, message, ...(fieldPath === undefined ? {} : { fieldPath }) });
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

function reasonOf(error: unknown): string {
  return error instanceof ContainerConfigError ? 'CreateContainerConfigError' : 'CreateContainerError';
}
