import assert from 'node:assert/strict';
import { existsSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import type { Container, Pod } from '@holdfast/api';
import type { ApiClient } from '@holdfast/client';
import { createSeededRandom, createSilentLog, createSystemClock } from '@holdfast/platform';
import { NO_CLUSTER_DNS } from '../domain/network-identity.ts';
import { INITIAL_MEMORY, type PodMemory } from '../domain/pod-worker-types.ts';
import { ATTACH_WAITS_UNTOLD } from '../limits.ts';
import { UserRanges } from '../node/user-ranges.ts';
import { createHollowRuntime } from '../runtime/hollow/index.ts';
import { createPodDirectories } from '../runtime/pod-directories.ts';
import type { ContainerRuntime, SandboxStatus } from '../runtime/port.ts';
import { AttachWait, type VolumeAttachments } from '../volumes/volume-attachments.ts';
import { ContainerStarter } from './container-starter.ts';
import { HOLLOW_PROBE_NETWORK } from './probe-network.ts';

const pod: Pod = {
  apiVersion: 'v1',
  kind: 'Pod',
  metadata: { name: 'p', namespace: 'default', uid: 'u1' },
  spec: {
    containers: [
      {
        name: 'main',
        image: 'busybox:1.36',
        resources: {},
        volumeMounts: [{ name: 'settings', mountPath: '/settings' }],
      },
    ],
    volumes: [{ name: 'settings', configMap: { name: 'settings' } }],
  },
  status: {},
};
const container = pod.spec.containers[0] ?? assert.fail('the pod has a container');

/** A node with volumes and images that records the order of its calls. */
class World {
  readonly steps: string[] = [];
  readonly events: string[] = [];
  readonly messages: string[] = [];
  /** Why the next container cannot be started. */
  startError: string | undefined;
  listFails = false;
  memory: PodMemory = INITIAL_MEMORY;
  settings: object | undefined = { data: { mode: 'fast' } };
  networkIsDown = false;
  /** Number of attempts before its volumes are attached. */
  attachWaits = 0;
  readonly directory = mkdtempSync(join(tmpdir(), 'holdfast-starter-'));
  readonly #pods = createPodDirectories(this.directory);
  readonly volumesPath = this.#pods.volumesPath('u1');
  readonly #clock = createSystemClock();
  readonly runtime = this.#recorded(
    createHollowRuntime({ clock: this.#clock, random: createSeededRandom(1, 'order') }).connect(),
  );
  readonly starter = new ContainerStarter({
    client: this.#client(),
    clock: this.#clock,
    log: createSilentLog(),
    runtime: this.runtime,
    network: HOLLOW_PROBE_NETWORK,
    node: { address: '192.0.2.1', hostname: 'machine', operatingSystem: 'linux', runtimeName: 'hollow' },
    dns: NO_CLUSTER_DNS,
    ranges: new UserRanges(undefined),
    attachments: this.#attachments(),
    admission: {
      admit: () => Promise.resolve(undefined),
      hold: () => {},
      release: () => {},
      node: () => assert.fail('no claim is looked for'),
    },
    allocatable: {},
    services: () => Promise.resolve([]),
    tell: (_pod, { reason, message }) => {
      this.events.push(reason);
      this.messages.push(message);
    },
    remember: (change) => {
      this.memory = change(this.memory);
    },
    wake: () => {},
  });

  constructor(t: TestContext) {
    t.after(async () => {
      await this.starter.stop();
      rmSync(this.directory, { recursive: true, force: true });
    });
  }

  sandboxes(): Promise<readonly SandboxStatus[]> {
    return this.runtime.list({ podUid: 'u1' });
  }

  #attachments(): VolumeAttachments {
    const ensure = async (): Promise<void> => {
      if (this.attachWaits-- > 0) throw new AttachWait('it is somewhere else');
    };
    return { ensure } as unknown as VolumeAttachments;
  }

  #recorded(inner: ContainerRuntime): ContainerRuntime {
    const present = { id: 'sha256:1', names: [], sizeBytes: 1 };
    return {
      ...inner,
      abilities: { mounts: true, user: 'any' },
      volumes: { path: this.#pods.volumesPath, remove: this.#pods.remove },
      images: {
        status: async () => {
          this.steps.push('image');
          return present;
        },
        pull: () => assert.fail('it is present'),
        list: () => Promise.resolve([present]),
        remove: () => assert.fail('nothing is collected'),
        used: () => assert.fail('nothing is collected'),
        directory: () => assert.fail('nothing is collected'),
      },
      runSandbox: (config) => {
        this.steps.push('sandbox and network');
        return this.networkIsDown ? Promise.reject(new Error('no network')) : inner.runSandbox(config);
      },
      createContainer: (sandbox, config) => {
        this.steps.push('container');
        return inner.createContainer(sandbox, config);
      },
      exec: (id, command, timeoutMs) => {
        this.steps.push(`exec ${command.join(' ')}`);
        return inner.exec(id, command, timeoutMs);
      },
      list: async (filter) => {
        if (this.listFails) throw new Error('the runtime does not answer');
        const { startError } = this;
        const found = await inner.list(filter);
        return startError === undefined ? found : found.map((each) => unstarted(each, startError));
      },
    };
  }

  #client(): ApiClient {
    return {
      find: async () => {
        this.steps.push('volume');
        return this.settings;
      },
    } as unknown as ApiClient;
  }
}

const unstarted = (sandbox: SandboxStatus, message: string): SandboxStatus => ({
  ...sandbox,
  containers: sandbox.containers.map((each) => ({
    ...each,
    state: 'exited',
    exitCode: 128,
    reason: 'StartError',
    message,
  })),
});

/** Starts a container with a postStart hook. */
async function startHooked(world: World, listFails = false): Promise<void> {
  const lifecycle = { postStart: { exec: { command: ['hook'] } } };
  await world.starter.runSandbox(0, pod);
  const sandboxes = await world.sandboxes();
  world.listFails = listFails;
  const start = { kind: 'startContainer', sandboxId: sandboxes[0]?.id ?? '', restartCount: 0 } as const;
  await world.starter.startContainer({ ...start, container: { ...container, lifecycle } }, pod, sandboxes);
}

test('[LIFE-18] a container that could not be started has failed: it is not called started, and its hook does not run', async (t) => {
  const world = new World(t);
  world.startError = 'exec: "no-such": executable file not found in $PATH';
  await startHooked(world);
  assert.deepEqual(world.events, ['Pulled', 'Created', 'Failed']);
  assert.equal(world.messages.at(-1), 'Error: exec: "no-such": executable file not found in $PATH');
  assert.equal(world.steps.includes('exec hook'), false);
  assert.deepEqual([world.memory.postStart, world.memory.failures], [{}, {}]);
});

test('[LIFE-17] the hook of a container runs although the runtime cannot tell what became of its start', async (t) => {
  const world = new World(t);
  await startHooked(world, true);
  assert.deepEqual(world.events, ['Pulled', 'Created', 'Started']);
  assert.equal(world.steps.includes('exec hook'), true);
});

test('[LIFE-32] [LIFE-34] volumes, then the sandbox with its network, then the image, then the container', async (t) => {
  const world = new World(t);
  await world.starter.runSandbox(0, pod);
  assert.ok(existsSync(join(world.volumesPath, 'settings', 'mode')));
  const [sandbox] = await world.sandboxes();
  const start = { kind: 'startContainer', sandboxId: sandbox?.id ?? '', container, restartCount: 0 } as const;
  await world.starter.startContainer(start, pod, await world.sandboxes());
  assert.deepEqual(world.steps, ['volume', 'sandbox and network', 'image', 'container']);
});

test('which directories a pod does not use is known only when no earlier kubelet process started it', async (t) => {
  const [begun, found] = [new World(t), new World(t)];
  assert.equal(begun.starter.usesDirectory('some uid'), undefined);
  await begun.starter.runSandbox(0, pod);
  await begun.starter.runSandbox(1, pod);
  assert.equal(begun.starter.usesDirectory('some uid'), false);
  await found.starter.runSandbox(1, pod);
  assert.equal(found.starter.usesDirectory('some uid'), undefined);
});

test('[LIFE-32] [LIFE-33] while a volume is missing there is no sandbox, and the pod says what it waits for', async (t) => {
  const world = new World(t);
  world.settings = undefined;
  await world.starter.runSandbox(0, pod);
  assert.deepEqual([world.steps, world.events, await world.sandboxes()], [['volume'], ['FailedMount'], []]);
  const failure = world.memory.failures[''];
  assert.equal(failure?.reason, 'ContainerCreating');
  assert.match(failure.message, /MountVolume.SetUp failed for volume "settings" : configmap "settings" not found/);
  world.settings = {};
  await world.starter.runSandbox(0, pod);
  assert.equal((await world.sandboxes()).length, 1);
  assert.equal(world.memory.failures[''], undefined);
});

test('volumes of a pod without a sandbox are removed with it; those of a pod with one stay', async (t) => {
  const world = new World(t);
  world.networkIsDown = true;
  await world.starter.runSandbox(0, pod);
  assert.deepEqual([existsSync(world.volumesPath), world.events], [true, ['FailedCreatePodSandBox']]);
  await world.starter.stop();
  assert.equal(existsSync(world.volumesPath), false);
  world.networkIsDown = false;
  await world.starter.runSandbox(0, pod);
  await world.starter.stop();
  assert.equal(existsSync(world.volumesPath), true);
});

test('[RWO-05] [RWO-10] nothing of a pod is created while its volume is not attached; the pod is ContainerCreating, and later reports why', async (t) => {
  const world = new World(t);
  world.attachWaits = ATTACH_WAITS_UNTOLD;
  for (let wait = 1; wait <= ATTACH_WAITS_UNTOLD; wait++) {
    assert.deepEqual(world.events, []);
    await world.starter.runSandbox(0, pod);
    assert.equal(world.memory.failures['']?.reason, 'ContainerCreating');
  }
  assert.deepEqual([world.steps, world.events], [[], ['FailedMount']]);
  await world.starter.runSandbox(0, pod);
  assert.equal((await world.sandboxes()).length, 1);
  assert.equal(world.memory.failures[''], undefined);
});

test('[LIFE-16] a container with invalid variables or sub path waits with the reason, and nothing else is created', async (t) => {
  const world = new World(t);
  await world.starter.runSandbox(0, pod);
  const doubled = Array.from({ length: 40 }, (_, i) => ({
    name: `V${i}`,
    value: i === 0 ? 'x' : `$(V${i - 1})$(V${i - 1})`,
  }));
  const mount = (subPathExpr: string) => [{ name: 'settings', mountPath: '/settings', subPathExpr }];
  const cases: readonly [Partial<Container>, RegExp][] = [
    [{ env: doubled }, /environment variable V18 is longer than 131072 bytes/],
    [{ env: doubled.slice(0, 18), command: ['$(V17)$(V17)'] }, /a word of the command or its arguments is longer/],
    [{ volumeMounts: mount('$(NOBODY)') }, /missing value for "NOBODY"/],
    [{ volumeMounts: mount('/etc') }, /must not be an absolute path/],
    [{ volumeMounts: mount('a/../..') }, /must not contain '..'/],
    [{ volumeMounts: [{ name: 'settings', mountPath: '/settings', subPath: 'none' }] }, /does not exist/],
  ];
  const sandboxes = (await world.sandboxes()).map((each) => ({ ...each, volumesPath: world.volumesPath }));
  for (const [change, message] of cases) {
    const asked = { ...container, ...change };
    const start = {
      kind: 'startContainer',
      sandboxId: sandboxes[0]?.id ?? '',
      container: asked,
      restartCount: 0,
    } as const;
    await world.starter.startContainer(start, pod, sandboxes);
    const failure = world.memory.failures['main'];
    assert.equal(failure?.reason, 'CreateContainerConfigError', String(message));
    assert.match(failure.message, message);
  }
  assert.equal(world.steps.includes('container'), false);
});
