import { isMirrorPod, isPodFinished, PODS, type Pod } from '@holdfast/api';
import type { ApiClient, Informer } from '@holdfast/client';
import { type Clock, invariant, type Log, type Timer } from '@holdfast/platform';
import type { PodFailure } from '../domain/pod-worker-types.ts';
import { POD_LIST_PAGE, POD_RETRY_INITIAL_MS, RUNTIME_RELIST_MS } from '../limits.ts';
import type { NotReady } from '../node/node-agent.ts';
import type { ContainerRuntime } from '../runtime/port.ts';
import type { VolumeUse } from '../volumes/volume-reclaimer.ts';
import { createApiPodObject, type PodIdentity, type PodObject } from './pod-object.ts';
import { PodWorker, type PodWorkerDeps } from './pod-worker.ts';
import { RelistMetrics } from './relist-metrics.ts';
import type { StaticPods } from './static-pods.ts';

export interface PodManagerDeps {
  readonly client: ApiClient;
  readonly informer: Informer<Pod>;
  readonly runtime: ContainerRuntime;
  readonly clock: Clock;
  readonly log: Log;
  readonly nodeName: string;
  readonly worker: Omit<PodWorkerDeps, 'object' | 'nameIsTaken' | 'onSettled'>;
  /** Absent: this node has no pods of its own. */
  readonly statics?: StaticPods | undefined;
  /** Called when the result of `notReady` may have changed. */
  readonly onReadiness: () => void;
}

/**
 * One worker per UID that exists here or that the API binds here. Workers for the runtime's pods are created first, so
 * that a new UID of the same name always finds the old one.
 */
export class PodManager {
  readonly relists = new RelistMetrics();
  readonly #deps: PodManagerDeps;
  readonly #apiObject: PodObject;
  readonly #workers = new Map<string, PodWorker>();
  /** By `namespace/name`: more than one while an old UID still ends. */
  readonly #byName = new Map<string, Set<PodWorker>>();
  /** Local pods whose object was not yet seen, since the start or since the Node object vanished. */
  readonly #toClear = new Set<PodWorker>();
  readonly #stopping = new AbortController();
  readonly #unsubscribe: (() => void)[] = [];
  #synced = false;
  /** Pods of files that came before the runtime was looked at; `undefined` after that. */
  #early: Pod[] | undefined = [];
  #runtimeFault: string | undefined;
  #relist: Timer | undefined;
  #starting: Promise<void> | undefined;

  constructor(deps: PodManagerDeps) {
    this.#deps = deps;
    this.#apiObject = createApiPodObject(deps.client, deps.nodeName);
  }

  start(): void {
    this.#starting ??= this.#begin();
  }

  async stop(): Promise<void> {
    this.#stopping.abort(new Error('the kubelet stops'));
    this.#relist?.cancel();
    for (const unsubscribe of this.#unsubscribe) unsubscribe();
    await this.#deps.statics?.stop();
    await this.#starting;
    await Promise.all([...this.#workers.values()].map((worker) => worker.stop()));
  }

  /** Why this node must not be called ready; `undefined` when it may. */
  notReady(): NotReady | undefined {
    if (this.#runtimeFault !== undefined) {
      return { kind: 'fault', reason: `container runtime is down: ${this.#runtimeFault}` };
    }
    if (!this.#synced) return { kind: 'starting', reason: 'the pods of this node are not known yet' };
    if (this.#toClear.size === 0) return undefined;
    const names = [...this.#toClear].map(({ identity }) => `${identity.namespace}/${identity.name}(${identity.uid})`);
    return { kind: 'clearing', reason: `stopping pods that no longer exist: ${names.toSorted().join(', ')}` };
  }

  /** The Node object vanished: what runs here may have been given up by everybody. Looks at the API itself, past every cache. */
  async verifyAll(): Promise<void> {
    const known = await this.#listUids();
    for (const worker of this.#workers.values()) {
      if (known.has(worker.identity.uid) || this.#deps.statics?.has(worker.identity.uid) === true) continue;
      this.#toClear.add(worker);
      worker.doubt();
    }
    this.#deps.onReadiness();
  }

  /**
   * Another machine has the name of this node. The API shows nothing of this node's pods and accepts no writes: they
   * end. A kubelet that restarted since then never gets a list of pods from the API, so it asks the runtime first.
   */
  async displaced(): Promise<void> {
    await this.#adoptLocal();
    for (const worker of this.#workers.values()) void worker.displace(DISPLACED);
  }

  /** Something of this pod is, or may still come to be, here. */
  has(uid: string): boolean {
    return this.#workers.has(uid);
  }

  /** True unless it is certain that no pod here uses the volume: before the runtime has listed its pods, nothing is. */
  mayUse(volume: VolumeUse): boolean {
    if (!this.#synced || this.#runtimeFault !== undefined) return true;
    return [...this.#workers.values()].some((worker) => worker.mayUse(volume));
  }

  /** The pods that have something here, or are about to. */
  active(): readonly Pod[] {
    return [...this.#workers.values()].flatMap((worker) => worker.active() ?? []);
  }

  /** Resolves when nothing of this pod runs any more and its object has the reason. */
  async end(uid: string, failure: PodFailure): Promise<void> {
    await this.#workers.get(uid)?.end(failure);
  }

  /** The runtime was unavailable: observe everything now, not in the next round. */
  lookAgain(): void {
    if (this.#synced) void this.#look();
  }

  async #begin(): Promise<void> {
    const { informer, runtime } = this.#deps;
    const { signal } = this.#stopping;
    await informer.synced().catch((error: unknown) => {
      if (!signal.aborted) throw error;
    });
    // Before the pods of the runtime are met: some of them are of files.
    await this.#deps.statics?.start((pod) => this.#offerOfFile(pod));
    await this.#adoptLocal();
    if (signal.aborted) return;
    this.#holdShares();
    this.#offerEarly();
    this.#unsubscribe.push(runtime.onChange((uid) => this.#workers.get(uid)?.wake()));
    this.#unsubscribe.push(
      informer.onChange(({ object, old }) => {
        if (isMirrorPod(object ?? old ?? NO_POD)) {
          this.#deps.statics?.sync();
          return;
        }
        if (object !== undefined) this.#offer(object);
        if (old !== undefined && old.metadata.uid !== object?.metadata.uid) this.#lost(old);
      }),
    );
    for (const pod of informer.list()) if (!isMirrorPod(pod)) this.#offer(pod);
    this.#deps.statics?.sync();
    this.#synced = true;
    this.#deps.onReadiness();
    this.#scheduleRelist();
  }

  /** Without the runtime's list nothing may start: it may run the same pods already. */
  async #adoptLocal(): Promise<void> {
    const { clock, log } = this.#deps;
    const { signal } = this.#stopping;
    while (!signal.aborted) {
      try {
        await this.#meetLocal();
        return;
      } catch (error) {
        log.warn('the container runtime does not answer, will retry', { error });
        this.#setRuntimeFault(error instanceof Error ? error.message : String(error));
        await clock.sleep(POD_RETRY_INITIAL_MS, signal).catch(() => undefined);
      }
    }
  }

  async #meetLocal(): Promise<void> {
    const { clock } = this.#deps;
    const began = clock.monotonic();
    const sandboxes = await this.#deps.runtime.list();
    this.relists.took((clock.monotonic() - began) / 1000);
    this.#setRuntimeFault(undefined);
    this.#deps.worker.ranges.hold(sandboxes);
    for (const { config } of sandboxes) {
      if (this.#workers.has(config.podUid)) continue;
      const worker = this.#create({ uid: config.podUid, namespace: config.podNamespace, name: config.podName });
      this.#toClear.add(worker);
      worker.wake();
    }
  }

  /** Before any pod is admitted: the worker of a pod that runs may get the answer of the runtime after that of a new pod. */
  #holdShares(): void {
    const { informer, worker } = this.#deps;
    for (const pod of [...informer.list(), ...(this.#early ?? [])]) {
      if (this.#workers.has(pod.metadata.uid ?? '') && !isPodFinished(pod)) worker.admission.hold(pod);
    }
  }

  #setRuntimeFault(fault: string | undefined): void {
    if (this.#runtimeFault === fault) return;
    this.#runtimeFault = fault;
    this.#deps.onReadiness();
  }

  #scheduleRelist(): void {
    this.#relist = this.#deps.clock.timer(RUNTIME_RELIST_MS, () => {
      void this.#look().finally(() => {
        if (!this.#stopping.signal.aborted) this.#scheduleRelist();
      });
    });
  }

  async #look(): Promise<void> {
    try {
      await this.#meetLocal();
    } catch (error) {
      this.#setRuntimeFault(error instanceof Error ? error.message : String(error));
      return;
    }
    for (const worker of this.#workers.values()) worker.wake();
  }

  /** What already runs here has its share before a pod of a file is admitted. */
  #offerOfFile(pod: Pod): void {
    if (this.#early === undefined) this.#offer(pod);
    else this.#early.push(pod);
  }

  /** In the order in which they came: a later state of a pod replaces an earlier one. */
  #offerEarly(): void {
    const early = this.#early ?? [];
    this.#early = undefined;
    for (const pod of early) this.#offer(pod);
  }

  #offer(pod: Pod): void {
    const { uid = '', namespace = '', name = '' } = pod.metadata;
    const worker = this.#workers.get(uid) ?? this.#create({ uid, namespace, name });
    worker.offer(pod);
    this.#cleared(worker);
  }

  #lost(pod: Pod): void {
    this.#workers.get(pod.metadata.uid ?? '')?.doubt();
  }

  #create(identity: PodIdentity): PodWorker {
    invariant(!this.#workers.has(identity.uid), 'a uid has one worker', { ...identity });
    const worker = new PodWorker(
      {
        ...this.#deps.worker,
        object: this.#objectOf(identity.uid),
        nameIsTaken: (asking) => this.#peers(asking).some((peer) => peer.mayHaveProcesses()),
        onSettled: (settled) => this.#settled(settled),
      },
      identity,
    );
    this.#workers.set(identity.uid, worker);
    const key = nameKey(identity);
    this.#byName.set(key, (this.#byName.get(key) ?? new Set()).add(worker));
    return worker;
  }

  #objectOf(uid: string): PodObject {
    const { statics } = this.#deps;
    return statics?.has(uid) === true ? statics.object : this.#apiObject;
  }

  #settled(worker: PodWorker): void {
    if (worker.hasEnded()) {
      this.#workers.delete(worker.identity.uid);
      const key = nameKey(worker.identity);
      const sameName = this.#byName.get(key);
      sameName?.delete(worker);
      if (sameName?.size === 0) this.#byName.delete(key);
    }
    this.#cleared(worker);
    for (const peer of this.#peers(worker)) peer.wake();
  }

  #cleared(worker: PodWorker): void {
    if (!this.#toClear.has(worker)) return;
    if (!worker.hasEnded() && !worker.isKnownToApi()) return;
    this.#toClear.delete(worker);
    if (this.#toClear.size === 0) this.#deps.onReadiness();
  }

  #peers(worker: PodWorker): readonly PodWorker[] {
    return [...(this.#byName.get(nameKey(worker.identity)) ?? [])].filter((peer) => peer !== worker);
  }

  async #listUids(): Promise<ReadonlySet<string>> {
    const { client, nodeName } = this.#deps;
    const uids = new Set<string>();
    let continueToken: string | undefined;
    do {
      const page = await client.list(PODS, {
        fieldSelector: `spec.nodeName=${nodeName}`,
        limit: POD_LIST_PAGE,
        ...(continueToken === undefined ? {} : { continueToken }),
      });
      for (const { metadata } of page.items) uids.add(metadata.uid ?? '');
      continueToken = page.continueToken;
    } while (continueToken !== undefined && continueToken !== '');
    return uids;
  }
}

const DISPLACED_MESSAGE = 'Another machine has the name of the node.';
const DISPLACED: PodFailure = {
  reason: 'NodeLost',
  message: DISPLACED_MESSAGE,
  event: { type: 'Warning', message: DISPLACED_MESSAGE },
};

const NO_POD: Pod = { apiVersion: 'v1', kind: 'Pod', metadata: {}, spec: { containers: [] }, status: {} };

const nameKey = ({ namespace, name }: PodIdentity): string => `${namespace}/${name}`;
