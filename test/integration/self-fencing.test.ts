import assert from 'node:assert/strict';
import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { getPriority, tmpdir } from 'node:os';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { LEASES, NODES, PODS, type Pod, promiseOf, STATEFUL_SETS } from '@holdfast/api';
import { createProcessRuntime, type ProcessRuntime } from '@holdfast/kubelet/process-runtime';
import { createSilentLog, createSystemClock } from '@holdfast/platform';
import { eventually } from '@holdfast/platform/contract';
import { MemorySqueeze } from '../support/memory-squeeze.ts';
import { startWholeCluster, type WholeCluster } from '../support/whole-cluster.ts';

const clock = createSystemClock();
const NODE_NAMES = ['n1', 'n2', 'n3'];

const AHEAD_OF_PODS = -15;

interface Scene {
  readonly cluster: WholeCluster;
  readonly directory: string;
  /** The containers of the pet that were alive in any poll of the process table. */
  readonly lives: Lives;
  readonly lost: string;
}

/** Three nodes that run processes and promise, and one pet, whose processes are looked for all the time. */
async function createScene(t: TestContext): Promise<Scene> {
  const directory = mkdtempSync(join(tmpdir(), 'holdfast-self-fencing-'));
  const runtimes = new Map<string, ProcessRuntime>();
  const runtimeOf = (name: string): ProcessRuntime => {
    const stateDirectory = join(directory, name);
    const runtime = createProcessRuntime({
      stateDirectory,
      clock,
      log: createSilentLog(),
      nodeAddress: () => '192.0.2.7',
    });
    runtimes.set(name, runtime);
    return runtime;
  };
  const cluster = await startWholeCluster(Object.fromEntries(NODE_NAMES.map((name) => [name, {}])), {
    runtimeOf,
    selfFencing: 'exclusive',
  });
  t.after(async () => {
    for (const name of NODE_NAMES) for (const pid of supervisorsOf(join(directory, name))) process.kill(pid, 'SIGCONT');
    await cluster[Symbol.asyncDispose]();
    await Promise.all([...runtimes.values()].map((runtime) => runtime.shutdown(0)));
    rmSync(directory, { recursive: true, force: true });
  });
  const { admin } = cluster;
  await eventually(() => arePromising(cluster), 'every node promises');
  const lives = new Lives(directory);
  t.after(() => lives.stop());
  const command = ['/bin/sh', '-c', `while true; do sleep 1; done # ${directory}`];
  await admin.create(STATEFUL_SETS, {
    apiVersion: 'apps/v1',
    kind: 'StatefulSet',
    metadata: { name: 'db', namespace: 'default' },
    spec: {
      replicas: 1,
      serviceName: 'db',
      updateStrategy: {},
      selector: { matchLabels: { app: 'db' } },
      template: {
        metadata: { labels: { app: 'db' } },
        spec: { containers: [{ name: 'main', image: 'busybox', command, resources: {} }] },
      },
    },
    status: { replicas: 0 },
  });
  const pet = await eventually(async () => runningPet(cluster), 'the pet runs');
  await eventually(() => lives.seen.size === 1, 'its process is found');
  return { cluster, directory, lives, lost: pet.spec.nodeName ?? '' };
}

async function arePromising({ admin }: WholeCluster): Promise<boolean> {
  const leases = await admin.list(LEASES, { namespace: 'kube-node-lease' });
  return leases.items.filter((lease) => promiseOf(lease) !== undefined).length === NODE_NAMES.length;
}

async function runningPet({ admin }: WholeCluster): Promise<Pod | undefined> {
  const pod = await admin.find(PODS, { namespace: 'default', name: 'db-0' });
  return pod?.status.phase === 'Running' && pod.metadata.deletionTimestamp === undefined ? pod : undefined;
}

const supervisorsOf = (directory: string): readonly number[] => programsOf('supervisor', directory);

function programsOf(program: 'supervisor' | 'watchdog', directory: string): readonly number[] {
  return readdirSync('/proc')
    .filter((entry) => /^\d+$/.test(entry))
    .map(Number)
    .filter((pid) => commandLine(pid).includes(`${program}-main.mjs\0${directory}\0`));
}

function commandLine(pid: number): string {
  try {
    return readFileSync(`/proc/${pid}/cmdline`, 'utf8');
  } catch {
    return '';
  }
}

const LOOK_MS = 20;

/** The containers with processes that carry the marker, read from the machine itself. */
class Lives {
  readonly seen = new Set<string>();
  /** Looks that found two containers alive. */
  doubled = 0;
  readonly #word: string;
  #timer: { cancel(): void };

  constructor(word: string) {
    this.#word = word;
    this.#timer = clock.timer(LOOK_MS, () => this.#look());
  }

  stop(): void {
    this.#timer.cancel();
  }

  #look(): void {
    const alive = new Set(
      readdirSync('/proc')
        .filter((entry) => /^\d+$/.test(entry) && commandLine(Number(entry)).includes(`# ${this.#word}`))
        .flatMap((pid) => containerOf(Number(pid)) ?? []),
    );
    for (const id of alive) this.seen.add(id);
    if (alive.size > 1) this.doubled++;
    this.#timer = clock.timer(LOOK_MS, () => this.#look());
  }
}

function containerOf(pid: number): string | undefined {
  try {
    return /(?:^|\0)HOLDFAST_CONTAINER_ID=([^\0]+)/.exec(readFileSync(`/proc/${pid}/environ`, 'utf8'))?.[1];
  } catch {
    return undefined;
  }
}

/** What befalls the node beside the cut, until it is disposed of. */
type Trouble = (directory: string) => AsyncDisposable & { readonly hasHappened?: () => boolean };

const stopSupervisor: Trouble = (directory) => {
  const signal = (name: NodeJS.Signals): void => {
    for (const pid of supervisorsOf(directory)) process.kill(pid, name);
  };
  signal('SIGSTOP');
  return { [Symbol.asyncDispose]: async () => signal('SIGCONT') };
};

const TROUBLES: Readonly<Record<string, Trouble>> = {
  'nothing else': () => ({ [Symbol.asyncDispose]: async () => {} }),
  'its supervisor is stopped': stopSupervisor,
  // The kernel may end a supervisor for its memory, and with it its pods: here the watchdog has to.
  'its supervisor is stopped, and its watchdog gets no memory': (directory) => {
    const squeeze = new MemorySqueeze(programsOf('watchdog', directory));
    const stopped = stopSupervisor(directory);
    return {
      hasHappened: () => squeeze.kills > 0,
      [Symbol.asyncDispose]: async () => {
        await squeeze[Symbol.asyncDispose]();
        await stopped[Symbol.asyncDispose]();
      },
    };
  },
};

for (const [name, trouble] of Object.entries(TROUBLES)) {
  test(`[SAFE-22] [SAFE-32] [FENCE-11] a process node is cut off (${name}): its pet runs elsewhere, automatically, and never twice`, async (t) => {
    const { cluster, directory, lives, lost } = await createScene(t);
    const old = await runningPet(cluster);
    // Only root may have a better one. It starts with the first pod of its node.
    const wanted = process.getuid?.() === 0 ? AHEAD_OF_PODS : 0;
    await eventually(() => {
      const found = programsOf('watchdog', join(directory, lost)).map((pid) => getPriority(pid));
      return found.length === 1 && found[0] === wanted;
    }, 'the watchdog goes ahead of the processes of pods');
    const troubled = trouble(join(directory, lost));
    const cutAtMs = clock.monotonic();
    cluster.nodes[lost]?.cut(true);
    const next = await eventually(async () => {
      const pet = await runningPet(cluster);
      return pet?.metadata.uid === old?.metadata.uid ? undefined : pet;
    }, 'the pet runs elsewhere');
    const tookMs = clock.monotonic() - cutAtMs;
    t.diagnostic(`from the cut to Running elsewhere: ${Math.round(tookMs)} ms`);
    assert.notEqual(next.spec.nodeName, lost);
    await eventually(() => lives.seen.size === 2, 'the process of the second is found');
    assert.ok(troubled.hasHappened?.() ?? true, 'the kernel has ended processes for their memory');
    await troubled[Symbol.asyncDispose]();
    cluster.nodes[lost]?.cut(false);
    await eventually(async () => {
      const node = await cluster.admin.get(NODES, { name: lost });
      const said = (type: string) => node.status.conditions?.find((each) => each.type === type)?.status;
      return said('Ready') === 'True' && said('SelfFenced') === 'False' && said('SelfFencing') === 'True';
    }, 'the node is back and promises again');
    assert.deepEqual([lives.seen.size, lives.doubled], [2, 0], 'one life after the other');
    assert.equal((await runningPet(cluster))?.metadata.uid, next.metadata.uid);
  });
}
