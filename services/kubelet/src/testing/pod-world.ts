import assert from 'node:assert/strict';
import { type Container, isFinishedPhase, isPodFinished, isTerminating, type Pod } from '@holdfast/api';
import { formatTime } from '@holdfast/platform';
import { decidePod } from '../domain/decide-pod.ts';
import { INITIAL_MEMORY, type PodAction, type PodMemory } from '../domain/pod-worker-types.ts';
import type { ContainerStatus, SandboxStatus } from '../runtime/port.ts';

const NODE = { address: '192.0.2.1', hostname: 'machine', operatingSystem: 'linux', runtimeName: 'model' };
const UID = 'u1';
const EPOCH = 1_767_225_600_000;

const PHASES: ReadonlySet<string | undefined> = new Set(['Pending', 'Running', 'Succeeded', 'Failed']);

export const container = (name: string, change: Partial<Container> = {}): Container => ({
  name,
  image: 'i',
  resources: {},
  ...change,
});

export const podOf = (spec: Partial<Pod['spec']>): Pod => ({
  apiVersion: 'v1',
  kind: 'Pod',
  metadata: { name: 'p', namespace: 'default', uid: UID, resourceVersion: '1' },
  spec: { containers: [container('main')], nodeName: 'n1', terminationGracePeriodSeconds: 30, ...spec },
  status: { phase: 'Pending' },
});

export type Mutable<T> = { -readonly [K in keyof T]: T[K] };

/** A node and an API server small enough to be obviously right. Every action is applied, and checked, as it comes. */
export class World {
  pod: Pod | undefined;
  memory: PodMemory = INITIAL_MEMORY;
  sandboxes: (Mutable<SandboxStatus> & { containers: Mutable<ContainerStatus>[] })[] = [];
  now = EPOCH;
  nameIsTaken = false;
  apiIsCut = false;
  readonly applied: string[] = [];
  readonly killAt = new Map<string, number>();
  readonly ranFor: { name: string; startedAt: number; endedAt: number }[] = [];
  #ids = 0;

  constructor(pod: Pod) {
    this.pod = pod;
  }

  /** Passes until nothing is left to do now. */
  settle(): void {
    for (let passes = 0; passes < 50; passes++) {
      const decision = this.decide();
      this.memory = decision.memory;
      for (const action of decision.actions) this.#apply(action);
      const settled = decision.actions.every(({ kind }) => kind === 'event' || kind === 'forget');
      if (settled || this.apiIsCut) return;
    }
    assert.fail(`does not settle: ${this.applied.slice(-8).join(', ')}`);
  }

  decide(): ReturnType<typeof decidePod> {
    const { pod, sandboxes, nameIsTaken, now } = this;
    return decidePod(
      { uid: UID, pod, sandboxes: structuredClone(sandboxes), nameIsTaken, node: NODE },
      this.memory,
      now,
    );
  }

  get containers(): Mutable<ContainerStatus>[] {
    return this.sandboxes.flatMap((sandbox) => sandbox.containers);
  }

  get alive(): Mutable<ContainerStatus>[] {
    return this.containers.filter(({ state }) => state === 'running');
  }

  named(name: string): Mutable<ContainerStatus> {
    return this.alive.find(({ config }) => config.name === name) ?? assert.fail(`${name} runs`);
  }

  endPostStart(name: string, result: 'done' | 'failed'): void {
    const { id } = this.named(name);
    const { [id]: _, ...postStart } = this.memory.postStart;
    this.memory = { ...this.memory, postStart: result === 'done' ? postStart : { ...postStart, [id]: result } };
  }

  failLiveness({ id }: Pick<ContainerStatus, 'id'>): void {
    this.memory = { ...this.memory, probes: { ...this.memory.probes, [id]: { liveness: 'failure' } } };
  }

  exit(target: Mutable<ContainerStatus>, exitCode: number): void {
    target.state = 'exited';
    target.exitCode = exitCode;
    target.finishedAt = this.now;
    this.ranFor.push({ name: target.config.name, startedAt: target.startedAt ?? this.now, endedAt: this.now });
    this.killAt.delete(target.id);
  }

  requestDeletion(graceSeconds: number): void {
    if (this.pod === undefined || isTerminating(this.pod)) return;
    if (isPodFinished(this.pod)) this.pod = undefined;
    else {
      const metadata = { deletionTimestamp: formatTime(this.now), deletionGracePeriodSeconds: graceSeconds };
      this.pod = { ...this.pod, metadata: { ...this.pod.metadata, ...metadata } };
    }
  }

  pass(ms: number): void {
    this.now += ms;
    for (const [id, at] of this.killAt) {
      const target = this.alive.find((each) => each.id === id);
      if (target !== undefined && at <= this.now) this.exit(target, 137);
    }
  }

  #apply(action: PodAction): void {
    this.applied.push(describe(action));
    switch (action.kind) {
      case 'confirm': {
        if (this.apiIsCut) return;
        this.memory = { ...this.memory, confirmed: this.pod !== undefined && !this.#isDeleted() };
        return;
      }
      case 'runSandbox': {
        assert.ok(!this.#isDeleted() && this.pod !== undefined, '[SAFE-02] no sandbox after the deletion began');
        assert.ok(!this.nameIsTaken, '[SAFE-26] another pod of this name is here');
        const { attempt } = action;
        const config = { podUid: UID, podName: 'p', podNamespace: 'default', hostname: 'p', attempt };
        this.sandboxes.push({
          id: this.#id(),
          config,
          state: 'ready',
          createdAt: this.now,
          ip: '10.0.0.9',
          containers: [],
        });
        return;
      }
      case 'startContainer':
        return this.#start(action);
      case 'stopContainer': {
        const at = this.now + action.graceSeconds * 1000;
        assert.ok(action.graceSeconds >= 2, '[TERM-29] two seconds at least');
        if (action.waits === true) return;
        this.#checkTurn(action);
        this.killAt.set(action.id, Math.min(at, this.killAt.get(action.id) ?? at));
        return;
      }
      case 'removeContainer': {
        const owner = this.sandboxes.find((sandbox) => sandbox.containers.some(({ id }) => id === action.id));
        assert.equal(owner?.containers.find(({ id }) => id === action.id)?.state, 'exited');
        if (owner !== undefined) owner.containers = owner.containers.filter(({ id }) => id !== action.id);
        return;
      }
      case 'stopSandbox': {
        assert.equal(this.alive.length, 0, 'containers are stopped before their sandbox');
        for (const sandbox of this.sandboxes) if (sandbox.id === action.id) sandbox.state = 'notReady';
        return;
      }
      case 'removeSandbox': {
        assert.equal(this.alive.length, 0, '[SAFE-13] nothing is released under a living process');
        this.sandboxes = this.sandboxes.filter(({ id }) => id !== action.id);
        return;
      }
      case 'writeStatus':
        return this.#write(action.status);
      case 'deletePod': {
        assert.equal(this.alive.length, 0, '[SAFE-12] no process lives when the object goes');
        assert.equal(this.sandboxes.length, 0, '[SAFE-13] everything is released when the object goes');
        assert.ok(isFinishedPhase(this.pod?.status.phase), '[SAFE-07] the final status was written before');
        if (!this.apiIsCut) this.pod = undefined;
        return;
      }
      case 'event':
      case 'forget':
        return;
    }
  }

  /** In a pod that ends, a sidecar gets its signal after all apps and all sidecars behind it. */
  #checkTurn({ name }: Extract<PodAction, { kind: 'stopContainer' }>): void {
    if (this.memory.terminationStartedAt === undefined || this.pod === undefined) return;
    const { containers, initContainers = [] } = this.pod.spec;
    const at = initContainers.findIndex((each) => each.name === name && each.restartPolicy === 'Always');
    if (at === -1) return;
    const before = new Set([...containers, ...initContainers.slice(at + 1)].map((each) => each.name));
    assert.ok(!this.alive.some(({ config }) => before.has(config.name)), `[SIDE-09] it is not the turn of ${name}`);
  }

  #start(action: Extract<PodAction, { kind: 'startContainer' }>): void {
    assert.ok(!this.#isDeleted(), '[SAFE-02] nothing starts after the deletion began');
    assert.ok(!isFinishedPhase(this.pod?.status.phase), '[SAFE-02] nothing starts in a finished pod');
    const { name } = action.container;
    assert.ok(!this.alive.some(({ config }) => config.name === name), 'one process per container');
    const counts = this.containers
      .filter(({ config }) => config.name === name)
      .map(({ config }) => config.restartCount);
    assert.ok(
      counts.every((count) => count < action.restartCount),
      'restart counts rise',
    );
    const sandbox = this.sandboxes.find(({ id }) => id === action.sandboxId);
    assert.equal(sandbox?.state, 'ready');
    const id = this.#id();
    if (action.container.lifecycle?.postStart !== undefined)
      this.memory = { ...this.memory, postStart: { ...this.memory.postStart, [id]: 'running' } };
    sandbox?.containers.push({
      id,
      config: { name, image: action.container.image ?? '', restartCount: action.restartCount },
      state: 'running',
      createdAt: this.now,
      startedAt: this.now,
    });
  }

  #write(status: Pod['status']): void {
    if (this.apiIsCut || this.pod === undefined) return;
    const before = this.pod.status;
    const rank = (phase: string | undefined): number => (phase === 'Pending' ? 0 : phase === 'Running' ? 1 : 2);
    assert.ok(rank(status.phase) >= rank(before.phase), `[SAFE-02] ${before.phase} became ${status.phase}`);
    if (isFinishedPhase(before.phase))
      assert.equal(status.phase, before.phase, '[SAFE-02] a terminal phase never changes');
    if (isFinishedPhase(status.phase)) assert.equal(this.alive.length, 0, 'a pod is finished when nothing of it runs');
    assert.ok(PHASES.has(status.phase), `[LIFE-02] [LIFE-07] no phase is called ${status.phase}`);
    const { containerStatuses: apps = [], initContainerStatuses: inits = [] } = status;
    for (const { name, state } of [...apps, ...inits])
      assert.equal(
        Object.values(state).filter((each) => each !== undefined).length,
        1,
        `[LIFE-15] one state of ${name}`,
      );
    for (const { name, restartCount } of status.containerStatuses ?? []) {
      const old = before.containerStatuses?.find((each) => each.name === name)?.restartCount ?? 0;
      assert.ok(restartCount >= old, 'a restart count never goes back');
    }
    this.pod = { ...this.pod, status };
  }

  #isDeleted(): boolean {
    return this.pod?.metadata.deletionTimestamp !== undefined;
  }

  #id(): string {
    this.#ids += 1;
    return `c${this.#ids}`;
  }
}

function describe(action: PodAction): string {
  if (action.kind === 'startContainer') return `start ${action.container.name}#${action.restartCount}`;
  if (action.kind === 'stopContainer')
    return `stop ${action.name} ${action.graceSeconds}${action.waits === true ? ', waits' : ''}`;
  if (action.kind === 'writeStatus') return `write ${action.status.phase}`;
  return action.kind === 'event' ? `event ${action.reason}` : action.kind;
}

export const started = (spec: Partial<Pod['spec']> = {}): World => {
  const world = new World(podOf(spec));
  world.settle();
  return world;
};

export const applied = (world: World, step: () => void): string[] => {
  world.applied.length = 0;
  step();
  world.settle();
  return [...world.applied];
};
