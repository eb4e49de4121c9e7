import assert from 'node:assert/strict';
import type { Container, ContainerStatus, KubeObject, Pod, PodCondition, PodStatus } from '@holdfast/api';
import type { ApiClient, EventText, KubeList } from '@holdfast/client';
import { notFound } from '@holdfast/machinery';
import { createSeededRandom, createSilentLog, describeError, formatTime, type Log } from '@holdfast/platform';
import { createVirtualClock } from '@holdfast/platform/testing';
import { HOLLOW_PROBE_NETWORK, type ProbeNetwork } from '../container/probe-network.ts';
import { NO_CLUSTER_DNS } from '../domain/network-identity.ts';
import type { PodFailure } from '../domain/pod-worker-types.ts';
import { UserRanges } from '../node/user-ranges.ts';
import { createApiPodObject } from '../pod/pod-object.ts';
import { PodWorker, type PodWorkerDeps } from '../pod/pod-worker.ts';
import { createHollowRuntime, type HollowRuntime } from '../runtime/hollow/index.ts';
import type { ContainerRuntime } from '../runtime/port.ts';
import { ProbeMetrics } from '../stats/probe-metrics.ts';

export interface Told extends EventText {
  /** Seconds since the beginning. */
  readonly at: number;
}

export interface StopCall {
  readonly container: string;
  readonly graceSeconds: number;
  readonly at: number;
}

/**
 * One pod, its worker, a simulated machine and an API with one object, on virtual time: a day takes milliseconds, with
 * exact seconds.
 */
export class VirtualPod {
  readonly probeMetrics = new ProbeMetrics();
  readonly events: Told[] = [];
  readonly stops: StopCall[] = [];
  /** Commands that were run beside containers, with their times. */
  readonly commands: { readonly command: string; readonly at: number }[] = [];
  readonly ended: { readonly container: string; readonly at: number }[] = [];
  readonly began: { readonly container: string; readonly at: number }[] = [];
  readonly statuses: PodStatus[] = [];
  /** Warnings of the node, with their errors. */
  readonly logged: string[] = [];
  readonly machine: HollowRuntime;
  readonly #clock = createVirtualClock();
  readonly #network: ProbeNetwork;
  readonly #own: Pick<PodWorkerDeps, 'containerManager'>;
  #worker: PodWorker;
  #pod: Pod | undefined;
  #version = 1;
  /** How often the runtime was listed. */
  looks = 0;
  /** The API does not respond. */
  apiIsAway = false;
  /** The machine's address. Set by `moveTo`, it is also the pod's, as on the host network. */
  #address = '192.0.2.1';
  #sharesNetwork = false;

  constructor(
    spec: Partial<Pod['spec']>,
    network: Partial<ProbeNetwork> = {},
    own: Pick<PodWorkerDeps, 'containerManager'> = {},
  ) {
    this.#network = { ...HOLLOW_PROBE_NETWORK, ...network };
    this.#own = own;
    this.machine = createHollowRuntime({
      clock: this.#clock,
      random: createSeededRandom(1, 'machine'),
      startDelayMs: { min: 0, max: 0 },
      observe: ({ kind, container }) =>
        (kind === 'started' ? this.began : this.ended).push({ container, at: this.seconds }),
    });
    this.#pod = {
      apiVersion: 'v1',
      kind: 'Pod',
      metadata: { name: 'p', namespace: 'default', uid: 'u1', resourceVersion: '1' },
      spec: { containers: [app()], nodeName: 'n1', terminationGracePeriodSeconds: 30, ...spec },
      status: { phase: 'Pending' },
    };
    this.#worker = this.#boot();
  }

  get seconds(): number {
    return this.#clock.monotonic() / 1000;
  }

  get isGone(): boolean {
    return this.#pod === undefined;
  }

  get status(): PodStatus {
    return this.#pod?.status ?? this.statuses.at(-1) ?? assert.fail('the pod never had a status');
  }

  container(name: string): ContainerStatus {
    const {
      containerStatuses: apps = [],
      initContainerStatuses: inits = [],
      ephemeralContainerStatuses: more = [],
    } = this.status;
    return [...apps, ...inits, ...more].find((each) => each.name === name) ?? assert.fail(`no status of ${name}`);
  }

  condition(type: string): PodCondition | undefined {
    return this.status.conditions?.find((each) => each.type === type);
  }

  said(reason: string): readonly Told[] {
    return this.events.filter((event) => event.reason === reason);
  }

  async run(seconds: number): Promise<this> {
    await this.#clock.advance(seconds * 1000);
    return this;
  }

  /** A deletion as the API server records it; a later one may only shorten. */
  remove(graceSeconds: number): void {
    const deletionTimestamp = formatTime(this.#clock.now() + graceSeconds * 1000);
    this.change((pod) => ({
      ...pod,
      metadata: { ...pod.metadata, deletionTimestamp, deletionGracePeriodSeconds: graceSeconds },
    }));
  }

  /** Updates the object. */
  change(how: (pod: Pod) => Pod): void {
    const pod = how(this.#pod ?? assert.fail('the pod is gone'));
    this.#version += 1;
    this.#pod = { ...pod, metadata: { ...pod.metadata, resourceVersion: String(this.#version) } };
    this.#worker.offer(this.#pod);
  }

  /** The machine has another address. */
  moveTo(address: string): void {
    this.#address = address;
    this.#sharesNetwork = true;
    this.#worker.wake();
  }

  jumpClock(seconds: number): void {
    this.#clock.jump(seconds * 1000);
  }

  /** The node cannot keep it. */
  end(failure: PodFailure): Promise<void> {
    return this.#worker.end(failure);
  }

  /** The object vanishes, as by a deletion with grace 0. */
  vanish(): void {
    this.#pod = undefined;
    this.#worker.doubt();
  }

  /** The kubelet is killed and the next one takes over what it finds. */
  async restartKubelet(): Promise<void> {
    await this.#worker.stop();
    this.#worker = this.#boot();
  }

  async stop(): Promise<void> {
    await this.#worker.stop();
  }

  #boot(): PodWorker {
    const client = this.#client();
    const worker = new PodWorker(
      {
        ...this.#own,
        client,
        object: createApiPodObject(client, 'n1'),
        runtime: this.#recorded(this.machine.connect()),
        events: { event: (_pod, event) => void this.events.push({ ...event, at: this.seconds }) },
        clock: this.#clock,
        log: this.#log(),
        network: this.#network,
        node: this.#node(),
        allocatable: {},
        dns: NO_CLUSTER_DNS,
        services: () => Promise.resolve([]),
        ranges: new UserRanges(undefined),
        admission: {
          admit: () => Promise.resolve(undefined),
          hold: () => {},
          release: () => {},
          node: () => assert.fail('nobody asks'),
        },
        nameIsTaken: () => false,
        probeMetrics: this.probeMetrics,
        onSettled: () => {},
      },
      { uid: 'u1', namespace: 'default', name: 'p' },
    );
    this.machine.onChange(() => worker.wake());
    if (this.#pod !== undefined) worker.offer(this.#pod);
    return worker;
  }

  #log(): Log {
    const warn: Log['warn'] = (message, { error } = {}) => void this.logged.push(`${message}: ${describeError(error)}`);
    return { ...createSilentLog(), warn };
  }

  #node(): PodWorkerDeps['node'] {
    const address = (): string => this.#address;
    return {
      get address() {
        return address();
      },
      hostname: 'machine',
      operatingSystem: 'linux',
      runtimeName: 'hollow',
    };
  }

  #recorded(inner: ContainerRuntime): ContainerRuntime {
    const nameOf = async (id: string): Promise<string> => {
      const containers = (await inner.list()).flatMap((sandbox) => sandbox.containers);
      return containers.find((each) => each.id === id)?.config.name ?? '';
    };
    return {
      ...inner,
      list: async (filter) => {
        this.looks += 1;
        const found = await inner.list(filter);
        return this.#sharesNetwork ? found.map((sandbox) => ({ ...sandbox, ip: this.#address })) : found;
      },
      stopContainer: async (id, graceMs) => {
        this.stops.push({ container: await nameOf(id), graceSeconds: graceMs / 1000, at: this.seconds });
        return inner.stopContainer(id, graceMs);
      },
      exec: (id, command, ...limits) => {
        this.commands.push({ command: command.join(' '), at: this.seconds });
        return inner.exec(id, command, ...limits);
      },
    };
  }

  #client(): ApiClient {
    const refuse = (): never => assert.fail('not asked for here');
    const answered = async <T extends KubeObject>(object: () => Pod): Promise<T> => {
      if (this.apiIsAway) throw new Error('nobody answers');
      // The one object is a pod, whatever kind the caller names.
      return object() as KubeObject as T;
    };
    return {
      get: refuse,
      find: refuse,
      list: async <T extends KubeObject>(): Promise<KubeList<T>> => {
        const found = this.#pod === undefined ? [] : [await answered<T>(() => this.#pod ?? refuse())];
        if (this.apiIsAway) throw new Error('nobody answers');
        return { resourceVersion: String(this.#version), continueToken: undefined, items: found };
      },
      patch: (_resource, _target, { body }) => answered(() => this.#patched(body as { status?: PodStatus })),
      delete: async () => {
        await answered(() => this.#pod ?? refuse());
        this.#pod = undefined;
      },
      watch: refuse,
      create: refuse,
      update: refuse,
      updateStatus: refuse,
      updateSubresource: refuse,
      resourcesOf: refuse,
      bind: refuse,
      evict: refuse,
    };
  }

  #patched({ status = {} }: { readonly status?: PodStatus }): Pod {
    const pod = this.#pod;
    if (pod === undefined) throw notFound({ group: '', resource: 'pods', name: 'p' });
    this.#version += 1;
    const merged = { ...pod.status, ...status };
    this.statuses.push(merged);
    const metadata = { ...pod.metadata, resourceVersion: String(this.#version) };
    this.#pod = { ...pod, metadata, status: merged };
    return this.#pod;
  }
}

export const app = (name = 'main', change: Partial<Container> = {}): Container => ({
  name,
  image: 'busybox:1.36',
  command: ['stay'],
  resources: {},
  ...change,
});
