import assert from 'node:assert/strict';
import { test } from 'node:test';
import { type KubeObject, LOCAL_PATH_PROVISIONER, type Pod, type PodStatus } from '@holdfast/api';
import type { ApiClient, Informer, InformerChange, KubeList } from '@holdfast/client';
import { conflict, MODIFIED_CONCURRENTLY, notFound, StatusError } from '@holdfast/machinery';
import { createSeededRandom, createSilentLog, formatTime } from '@holdfast/platform';
import { createVirtualClock } from '@holdfast/platform/testing';
import { HOLLOW_PROBE_NETWORK } from '../container/probe-network.ts';
import { NO_CLUSTER_DNS } from '../domain/network-identity.ts';
import type { NodeAdmission } from '../node/node-admission.ts';
import { UserRanges } from '../node/user-ranges.ts';
import { createHollowRuntime } from '../runtime/hollow/index.ts';
import { type ContainerRuntime, RuntimeError } from '../runtime/port.ts';
import { app } from '../testing/virtual-pod.ts';
import { PodManager } from './pod-manager.ts';
import { StaticPods } from './static-pods.ts';

/** One node with all its pods, an API with one object per name, and a machine that outlives every kubelet. */
class VirtualNode {
  /** The starts and ends of processes: `<uid> began|ended`. */
  readonly processes: string[] = [];
  readonly statuses: { readonly uid: string; readonly phase: string | undefined }[] = [];
  runtimeIsAway = false;
  /** Another machine has the name: the API shows no pod. */
  isRefused = false;
  /** The runtime takes ten seconds to say what it has of this pod. */
  slowUid: string | undefined;
  /** The runtime takes ten seconds to say what it has at all. */
  listIsSlow = false;
  /** For how many pods there is room. */
  places = Number.POSITIVE_INFINITY;
  /** The pods of the files of this node. */
  files: readonly Pod[] = [];
  /** The claims and volumes of the API by name, on a node that makes directories. */
  volumes: Map<string, KubeObject> | undefined;
  readonly #clock = createVirtualClock();
  readonly #stored = new Map<string, Pod>();
  readonly #listeners = new Set<(change: InformerChange<Pod>) => void>();
  readonly #uidOf = new Map<string, string>();
  readonly machine = createHollowRuntime({
    clock: this.#clock,
    random: createSeededRandom(1, 'machine'),
    startDelayMs: { min: 0, max: 0 },
    observe: ({ kind, podUid }) => this.processes.push(`${podUid} ${kind === 'started' ? 'began' : 'ended'}`),
  });
  readonly #informerStop = Promise.withResolvers<void>();
  #version = 10;
  #manager = this.#boot();

  get alive(): readonly string[] {
    const began = (uid: string, what: string): number =>
      this.processes.filter((each) => each === `${uid} ${what}`).length;
    const uids = [...new Set(this.processes.map((each) => each.split(' ')[0] ?? ''))];
    return uids.filter((uid) => began(uid, 'began') > began(uid, 'ended'));
  }

  get manager(): PodManager {
    return this.#manager;
  }

  stored(name: string): Pod | undefined {
    return this.#stored.get(name);
  }

  /** Binds a pod to this node, or updates it. */
  put(uid: string, name: string, change: Partial<Pod> = {}): void {
    const resourceVersion = String(++this.#version);
    const pod: Pod = {
      apiVersion: 'v1',
      kind: 'Pod',
      spec: { containers: [app('main', { command: ['stop-after', '4'] })], nodeName: 'n1', restartPolicy: 'Always' },
      status: { phase: 'Pending' },
      ...change,
      metadata: { name, namespace: 'default', uid, ...change.metadata, resourceVersion },
    };
    this.#store(name, pod);
  }

  /** A deletion that its kubelet has to confirm. */
  remove(name: string, graceSeconds: number): void {
    const pod = this.#stored.get(name) ?? assert.fail(`there is no ${name}`);
    const deletionTimestamp = formatTime(this.#clock.now() + graceSeconds * 1000);
    const metadata = { ...pod.metadata, deletionTimestamp, deletionGracePeriodSeconds: graceSeconds };
    this.put(metadata.uid ?? '', name, { ...pod, metadata });
  }

  /** A deletion with grace period 0: the object is removed immediately. */
  forceRemove(name: string): void {
    this.#store(name, undefined);
  }

  /** The object is gone, and no cache hears of it. */
  forgetSilently(name: string): void {
    this.#stored.delete(name);
  }

  /** The cache lacks the object, but the API has it. */
  loseSight(name: string): void {
    for (const listener of this.#listeners)
      listener({ key: `default/${name}`, object: undefined, old: this.#stored.get(name) });
  }

  async run(seconds: number): Promise<void> {
    await this.#clock.advance(seconds * 1000);
  }

  start(): void {
    this.#manager.start();
  }

  /** `kill -9` of the kubelet; the next one finds the machine as it is. */
  async restartKubelet(): Promise<void> {
    await this.#manager.stop();
    this.#listeners.clear();
    this.#manager = this.#boot();
    this.#manager.start();
  }

  async stop(): Promise<void> {
    this.#informerStop.resolve();
    await this.#manager.stop();
  }

  #store(name: string, pod: Pod | undefined): void {
    const old = this.#stored.get(name);
    if (pod === undefined) this.#stored.delete(name);
    else this.#stored.set(name, pod);
    if (pod?.metadata.uid !== undefined) this.#uidOf.set(pod.metadata.uid, name);
    for (const listener of this.#listeners) listener({ key: `default/${name}`, object: pod, old });
  }

  #boot(): PodManager {
    const client = this.#client();
    return new PodManager({
      client,
      informer: this.#informer(),
      runtime: this.#runtime(),
      clock: this.#clock,
      log: createSilentLog(),
      nodeName: 'n1',
      statics: this.#statics(client),
      onReadiness: () => {},
      worker: {
        client,
        runtime: this.#runtime(),
        events: { event: () => {} },
        clock: this.#clock,
        log: createSilentLog(),
        network: HOLLOW_PROBE_NETWORK,
        node: { address: '192.0.2.1', hostname: 'machine', operatingSystem: 'linux', runtimeName: 'hollow' },
        allocatable: {},
        dns: NO_CLUSTER_DNS,
        services: () => Promise.resolve([]),
        ranges: new UserRanges(undefined),
        admission: this.#admission(),
        directories: {
          make: (uid) => Promise.resolve(`/volumes/${uid}`),
          remove: () => assert.fail('the reclaimer removes'),
          removeAll: () => assert.fail('nothing is forgotten'),
        },
      },
    });
  }

  /** No test here looks at mirrors, so none is written. */
  #statics(client: ApiClient): StaticPods {
    return new StaticPods({
      source: { start: async (onChange) => onChange(this.files), stop: () => {} },
      client: { ...client, find: async () => undefined, create: async (_resource, mirror) => mirror },
      clock: this.#clock,
      log: createSilentLog(),
      nodeName: 'n1',
      mirrors: () => [],
    });
  }

  #admission(): NodeAdmission {
    const held = new Set<string>();
    const hold = ({ metadata: { uid = '' } }: Pod): void => void held.add(uid);
    return {
      admit: async (pod) => {
        if (held.size >= this.places) return NO_ROOM;
        hold(pod);
        return undefined;
      },
      hold,
      release: (uid) => void held.delete(uid),
      node: () => ({ name: 'n1', labels: {}, taints: [], allocatable: {} }),
    };
  }

  #runtime(): ContainerRuntime {
    const inner = this.machine.connect();
    const list: ContainerRuntime['list'] = async (filter) => {
      if (this.runtimeIsAway) throw new RuntimeError('Unavailable', 'it is away');
      if (filter === undefined && this.listIsSlow) await this.#clock.sleep(10_000);
      if (filter?.podUid !== undefined && filter.podUid === this.slowUid) await this.#clock.sleep(10_000);
      return inner.list(filter);
    };
    if (this.volumes === undefined) return { ...inner, list };
    const volumes = { path: (uid: string) => `/pods/${uid}`, remove: () => {} };
    return { ...inner, list, abilities: { mounts: true, user: 'any' }, volumes };
  }

  #informer(): Informer<Pod> {
    const refuse = (): never => assert.fail('not asked for here');
    return {
      name: 'pods',
      start: refuse,
      stop: refuse,
      synced: () => (this.isRefused ? this.#informerStop.promise : Promise.resolve()),
      get: refuse,
      list: () => [...this.#stored.values()],
      count: refuse,
      byIndex: refuse,
      onChange: (listener) => {
        this.#listeners.add(listener);
        return () => this.#listeners.delete(listener);
      },
      revision: () => this.#version,
      reflects: refuse,
    };
  }

  #client(): ApiClient {
    const refuse = (): never => assert.fail('not asked for here');
    // Every object here is a pod, whatever kind the caller names.
    const as = <T extends KubeObject>(pod: Pod): T => pod as KubeObject as T;
    return {
      get: refuse,
      find: async <T extends KubeObject>(_resource: unknown, { name }: { readonly name: string }) =>
        (this.volumes ?? refuse()).get(name) as T | undefined,
      watch: refuse,
      create: refuse,
      update: refuse,
      updateStatus: refuse,
      updateSubresource: refuse,
      resourcesOf: refuse,
      bind: refuse,
      evict: refuse,
      list: async <T extends KubeObject>(_resource: unknown, selection?: { fieldSelector?: string }) => {
        if (this.isRefused) throw REFUSED;
        const name = /metadata\.name=([^,]*)/.exec(selection?.fieldSelector ?? '')?.[1];
        const items = [...this.#stored.values()].filter((pod) => name === undefined || pod.metadata.name === name);
        const page: KubeList<T> = {
          resourceVersion: String(this.#version),
          continueToken: undefined,
          items: items.map((pod) => as<T>(pod)),
        };
        return page;
      },
      patch: async (_resource, { name }, { body }) => as(this.#patched(name, body)),
      delete: async (_resource, { name }, request) => {
        const pod = this.#stored.get(name);
        if (pod === undefined) throw notFound({ group: '', resource: 'pods', name });
        if (pod.metadata.uid !== request?.uid) throw changed(name);
        assert.equal(request?.gracePeriodSeconds, 0, 'any other period only marks the pod');
        this.#store(name, undefined);
        return undefined as never;
      },
    };
  }

  #patched(name: string, body: unknown): Pod {
    const { metadata, status = {} } = body as {
      readonly metadata?: { readonly uid?: string };
      readonly status?: PodStatus;
    };
    const pod = this.#stored.get(name);
    if (pod === undefined) throw notFound({ group: '', resource: 'pods', name });
    if (metadata?.uid !== undefined && metadata.uid !== pod.metadata.uid) throw changed(name);
    this.statuses.push({ uid: pod.metadata.uid ?? '', phase: status.phase ?? pod.status.phase });
    this.put(pod.metadata.uid ?? '', name, { ...pod, status: { ...pod.status, ...status } });
    return this.#stored.get(name) ?? assert.fail('it was written');
  }
}

const ofFile = (uid: string): Pod => ({
  apiVersion: 'v1',
  kind: 'Pod',
  metadata: { name: `${uid}-n1`, namespace: 'default', uid, resourceVersion: '1' },
  spec: { containers: [app('main')], nodeName: 'n1', restartPolicy: 'Always' },
  status: { phase: 'Pending' },
});

const NO_ROOM = { reason: 'OutOfpods', message: 'no room', event: { type: 'Warning', message: 'no room' } } as const;
const REFUSED = new StatusError({ code: 403, reason: 'Forbidden', message: 'bound to another incarnation' });

const changed = (name: string) => conflict({ group: '', resource: 'pods', name }, MODIFIED_CONCURRENTLY);

async function inNode(work: (node: VirtualNode) => Promise<void>): Promise<void> {
  const node = new VirtualNode();
  try {
    await work(node);
  } finally {
    // Work that a failed test left behind ends by its deadline.
    const stopped = node.stop();
    await node.run(60);
    await stopped;
  }
}

test('[SAFE-26] [LIFE-14] a pod of the same name starts only after the old one has terminated on this node', () =>
  inNode(async (node) => {
    node.put('old', 'db-0');
    node.start();
    await node.run(2);
    assert.deepEqual(node.alive, ['old']);
    node.forceRemove('db-0');
    node.put('new', 'db-0');
    await node.run(1);
    assert.deepEqual(node.processes, ['old began'], 'the old one takes a moment to stop');
    await node.run(10);
    assert.deepEqual(node.processes, ['old began', 'old ended', 'new began']);
  }));

test('[SAFE-26] [SAFE-12] the same holds after a restart of the kubelet, which knows the old pod from its runtime alone', () =>
  inNode(async (node) => {
    node.put('old', 'db-0');
    node.start();
    await node.run(2);
    node.runtimeIsAway = true;
    node.forceRemove('db-0');
    node.put('new', 'db-0');
    await node.restartKubelet();
    await node.run(30);
    assert.deepEqual(node.processes, ['old began'], 'without its word nothing may start');
    assert.equal(node.manager.notReady()?.kind, 'fault');
    node.runtimeIsAway = false;
    await node.run(2);
    assert.deepEqual(node.processes, ['old began'], 'the old one is found and stopped first');
    await node.run(20);
    assert.deepEqual(node.processes, ['old began', 'old ended', 'new began']);
    assert.equal(node.manager.notReady(), undefined);
  }));

test('[SAFE-26] while the node may still hold parts of the old pod, the new one does not start', () =>
  inNode(async (node) => {
    node.put('old', 'db-0');
    node.start();
    await node.run(2);
    await node.stop();
    node.forceRemove('db-0');
    node.put('new', 'db-0');
    node.slowUid = 'old';
    await node.restartKubelet();
    await node.run(9);
    assert.deepEqual(node.processes, ['old began']);
    node.slowUid = undefined;
    await node.run(30);
    assert.deepEqual(node.processes, ['old began', 'old ended', 'new began']);
  }));

test('[LIFE-08] [SAFE-32] a restarted kubelet adopts what its runtime runs, and starts nothing a second time', () =>
  inNode(async (node) => {
    node.put('one', 'web');
    node.start();
    await node.run(2);
    await node.restartKubelet();
    await node.run(60);
    assert.deepEqual(node.processes, ['one began']);
    assert.deepEqual(node.stored('web')?.status.containerStatuses?.[0]?.restartCount, 0);
  }));

test('[LIFE-08] a restarted kubelet gives no room away that a pod has of which its runtime answers late', () =>
  inNode(async (node) => {
    node.places = 1;
    node.put('one', 'web');
    node.start();
    await node.run(2);
    await node.stop();
    node.put('two', 'other');
    node.slowUid = 'one';
    await node.restartKubelet();
    await node.run(15);
    assert.deepEqual(node.processes, ['one began']);
    assert.equal(node.stored('other')?.status.phase, 'Failed');
  }));

test('[LIFE-08] a restarted kubelet admits no pod of a file before it has looked at its runtime', () =>
  inNode(async (node) => {
    node.places = 1;
    node.put('one', 'web-0');
    node.start();
    await node.run(2);
    node.files = [ofFile('file')];
    node.listIsSlow = true;
    await node.restartKubelet();
    await node.run(20);
    assert.deepEqual(node.alive, ['one'], 'the place is taken');
  }));

test('[LIFE-08] a restarted kubelet gives the room of a pod of a file to no other pod', () =>
  inNode(async (node) => {
    node.places = 1;
    node.files = [ofFile('file')];
    node.start();
    await node.run(2);
    assert.deepEqual(node.alive, ['file']);
    node.slowUid = 'file';
    await node.restartKubelet();
    node.put('new', 'web-1');
    await node.run(20);
    assert.deepEqual(node.alive, ['file']);
    assert.equal(node.stored('web-1')?.status.phase, 'Failed');
  }));

test('[SAFE-31] a restarted kubelet ends pods unknown to the API before the node is ready', () =>
  inNode(async (node) => {
    node.put('lost', 'web');
    node.start();
    await node.run(2);
    await node.stop();
    node.forceRemove('web');
    await node.restartKubelet();
    await node.run(1);
    assert.deepEqual(node.manager.notReady(), {
      kind: 'clearing',
      reason: 'stopping pods that no longer exist: default/web(lost)',
    });
    await node.run(20);
    assert.deepEqual([node.alive, node.manager.notReady()], [[], undefined]);
  }));

test('[SAFE-31] when the Node object is gone, pods missing in the API end before the node is ready, unseen by any cache', () =>
  inNode(async (node) => {
    node.put('lost', 'web');
    node.put('kept', 'db');
    node.start();
    await node.run(2);
    node.forgetSilently('web');
    await node.run(2);
    assert.deepEqual([node.alive.toSorted(), node.manager.notReady()], [['kept', 'lost'], undefined]);
    await node.manager.verifyAll();
    assert.equal(node.manager.notReady()?.reason, 'stopping pods that no longer exist: default/web(lost)');
    await node.run(20);
    assert.deepEqual([node.alive, node.manager.notReady()], [['kept'], undefined]);
  }));

for (const phase of ['Failed', 'Succeeded'] as const) {
  test(`[SAFE-02] [GC-01] [LIFE-10] a pod in phase ${phase} never runs again, and its object stays`, () =>
    inNode(async (node) => {
      const status = { phase, reason: phase === 'Failed' ? 'Evicted' : undefined } as Pod['status'];
      node.put('ended', 'web', { status });
      node.start();
      await node.run(60);
      await node.restartKubelet();
      await node.run(60);
      node.put('ended', 'web', { status, metadata: { labels: { touched: 'yes' } } });
      await node.run(60);
      assert.deepEqual(node.processes, []);
      assert.equal(node.stored('web')?.status.phase, phase);
    }));
}

test('[SAFE-02] [TERM-48] a pod that was evicted while it ran stays terminated, also for the next kubelet', () =>
  inNode(async (node) => {
    node.put('one', 'web');
    node.start();
    await node.run(2);
    const ended = node.manager.end('one', {
      reason: 'Evicted',
      message: 'The node was low on resource: memory.',
      graceSeconds: 10,
      disruption: 'low',
    } as never);
    await node.run(20);
    await ended;
    assert.deepEqual([node.processes, node.stored('web')?.status.phase], [['one began', 'one ended'], 'Failed']);
    await node.restartKubelet();
    await node.run(120);
    assert.deepEqual([node.processes, node.stored('web')?.status.phase], [['one began', 'one ended'], 'Failed']);
    assert.equal(node.manager.has('one') && node.manager.active().length > 0, false);
  }));

test('[SAFE-07] [SAFE-12] [TERM-15] the object of a deleted pod is removed after its last process, by its UID', () =>
  inNode(async (node) => {
    node.put('one', 'web');
    node.start();
    await node.run(2);
    node.remove('web', 30);
    await node.run(3);
    assert.ok(node.stored('web') !== undefined && node.alive.length === 1);
    await node.run(10);
    assert.deepEqual([node.stored('web'), node.alive], [undefined, []]);
    const last = node.statuses.at(-1);
    assert.ok(last?.uid === 'one' && (last.phase === 'Failed' || last.phase === 'Succeeded'), JSON.stringify(last));
    await node.run(10);
    assert.equal(node.manager.has('one'), false, 'nothing of it is left');
  }));

test('[SAFE-32] a cache that lost a pod ends nothing: the API is read', () =>
  inNode(async (node) => {
    node.put('one', 'web');
    node.start();
    await node.run(2);
    node.loseSight('web');
    await node.run(30);
    assert.deepEqual(node.processes, ['one began']);
  }));

test('[SAFE-31] [SAFE-17] a restarted, displaced kubelet ends what its runtime runs, though the API shows it no pod', () =>
  inNode(async (node) => {
    node.put('u1', 'web');
    node.start();
    await node.run(30);
    assert.deepEqual(node.alive, ['u1']);
    node.isRefused = true;
    await node.restartKubelet();
    await node.run(30);
    assert.deepEqual(node.alive, ['u1'], 'the container outlives its kubelet');
    void node.manager.displaced();
    await node.run(120);
    assert.deepEqual(node.alive, []);
  }));

test('a claim counts as in use until no process of a pod with it can be left', () =>
  inNode(async (node) => {
    const mayUse = (claim: string, namespace = 'default'): boolean =>
      node.manager.mayUse({ uid: 'of-a-volume', namespace, claim });
    const volumes = [{ name: 'v', persistentVolumeClaim: { claimName: 'data' } }];
    const main = app('main', { command: ['stop-after', '4'] });
    node.put('one', 'db-0', { spec: { containers: [main], nodeName: 'n1', volumes } });
    assert.equal(mayUse('data'), true, 'the pods of the runtime are not known yet');
    node.start();
    await node.run(2);
    assert.deepEqual([mayUse('data'), mayUse('other'), mayUse('data', 'elsewhere')], [true, false, false]);
    node.forceRemove('db-0');
    assert.equal(mayUse('data'), true, 'the object is gone, its processes are not');
    await node.restartKubelet();
    await node.run(0);
    assert.equal(mayUse('other'), true, 'nobody knows what claims an unknown pod has');
    await node.run(60);
    assert.deepEqual([node.alive, mayUse('data'), mayUse('other')], [[], false, false]);
    node.runtimeIsAway = true;
    await node.run(600);
    assert.equal(mayUse('data'), true, 'the runtime does not answer');
  }));

const UIDS = ['00000000-0000-4000-8000-000000000001', '00000000-0000-4000-8000-000000000002'] as const;

/** A bound claim and its local-path volume on this node. */
const boundTo = (uid: string): [string, KubeObject][] => {
  const claim = {
    apiVersion: 'v1',
    kind: 'PersistentVolumeClaim',
    metadata: { name: 'data', namespace: 'default', uid: `claim of ${uid}` },
    spec: { volumeName: 'pv' },
    status: { phase: 'Bound' },
  };
  const volume = {
    apiVersion: 'v1',
    kind: 'PersistentVolume',
    metadata: { name: 'pv', uid },
    spec: {
      claimRef: { namespace: 'default', name: 'data', uid: claim.metadata.uid },
      csi: { driver: LOCAL_PATH_PROVISIONER, volumeHandle: 'pv', volumeAttributes: { node: 'n1' } },
    },
  };
  return [
    ['data', claim],
    ['pv', volume],
  ];
};

test('a pod uses the volumes that it got, whatever claims are called by now', () =>
  inNode(async (node) => {
    const [old, next] = UIDS;
    node.volumes = new Map(boundTo(next));
    await node.restartKubelet();
    const main = app('main', { command: ['stop-after', '400'], volumeMounts: [{ name: 'v', mountPath: '/v' }] });
    const volumes = [{ name: 'v', persistentVolumeClaim: { claimName: 'data' } }];
    node.put('one', 'db-0', { spec: { containers: [main], nodeName: 'n1', volumes } });
    await node.run(2);
    assert.deepEqual(node.alive, ['one']);
    const mayUse = (uid: string, claim: string): boolean => node.manager.mayUse({ uid, namespace: 'default', claim });
    assert.equal(mayUse(old, 'data'), false, 'the volume of an earlier claim of this name');
    assert.equal(mayUse(next, 'another'), true, 'somebody has changed the claim in the volume');
    await node.restartKubelet();
    await node.run(2);
    assert.equal(mayUse(old, 'data'), true, 'this kubelet process did not start the pod');
  }));
