import assert from 'node:assert/strict';
import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { after, test } from 'node:test';
import { createCriRuntime } from '@holdfast/kubelet/cri-runtime';
import { createSilentLog, createSystemClock } from '@holdfast/platform';
import { readLogFile } from '../../services/kubelet/src/adapters/log-file.ts';
import {
  containerConfig,
  containerOf,
  eventually,
  exited,
  type RuntimeHarness,
  sandboxConfig,
  testContainerRuntime,
} from '../../services/kubelet/src/runtime/contract.ts';
import { testRuntimeStreams } from '../../services/kubelet/src/runtime/contract-streams.ts';
import { CriConnection } from '../../services/kubelet/src/runtime/cri/connection.ts';
import { rotateLog } from '../../services/kubelet/src/runtime/cri/log-keeper.ts';
import type { ContainerRuntime, ContainerStatus } from '../../services/kubelet/src/runtime/port.ts';
import type { ContainerIsolation, SandboxIsolation } from '../../services/kubelet/src/runtime/port-isolation.ts';
import { testBlockDevices } from '../support/block-devices.ts';
import { TestContainerd } from '../support/containerd.ts';

const containerd = await TestContainerd.start();
after(() => containerd[Symbol.asyncDispose]());

const clock = createSystemClock();

const open = (stateDirectory: string): ContainerRuntime =>
  createCriRuntime({
    endpoint: containerd.endpoint,
    stateDirectory,
    nodeName: 'n1',
    nodeAddress: () => '192.0.2.7',
    clock,
    log: createSilentLog(),
  });

async function createHarness(): Promise<RuntimeHarness & { readonly stateDirectory: string }> {
  const stateDirectory = mkdtempSync(path.join(tmpdir(), 'holdfast-cri-state-'));
  let runtime = open(stateDirectory);
  return {
    stateDirectory,
    runtime,
    reopen: async () => {
      await runtime.close();
      runtime = open(stateDirectory);
      return runtime;
    },
    dispose: async () => {
      const all = await runtime.list();
      await Promise.all(all.map(({ id }) => runtime.stopSandbox(id, 0)));
      await Promise.all(all.map(({ id }) => runtime.removeSandbox(id)));
      await runtime.close();
      rmSync(stateDirectory, { recursive: true, force: true });
    },
  };
}

const shell = (script: string): readonly string[] => ['/bin/sh', '-c', script];

/** The container's output, without time and stream of every line. */
async function output(container: ContainerStatus): Promise<string> {
  const file = container.logPath ?? '';
  if (!existsSync(file)) return '';
  const lines = readFileSync(file, 'utf8').split('\n').slice(0, -1);
  return lines
    .map((line) => /^\S+ std(?:out|err) ([FP]) (.*)$/.exec(line))
    .map((parts) => `${parts?.[2] ?? ''}${parts?.[1] === 'F' ? '\n' : ''}`)
    .join('');
}

/** Every process of a container is in its control group, wherever else it went. */
function processesOf(containerId: string): number {
  return readdirSync('/proc').filter((name) => /^\d+$/.test(name) && controlGroupsOf(name).includes(containerId))
    .length;
}

function controlGroupsOf(pid: string): string {
  try {
    return readFileSync(`/proc/${pid}/cgroup`, 'utf8');
  } catch {
    return '';
  }
}

testContainerRuntime(
  'cri runtime',
  {
    exitAfter: (seconds, exitCode) => shell(`sleep ${seconds}; exit ${exitCode}`),
    runForever: ['/bin/sleep', '600'],
    ignoreStopSignal: shell('trap "" TERM; echo deaf; sleep 600; sleep 600'),
    programs: {
      forkChildren: shell('sleep 601 & setsid sleep 602 & (setsid sh -c "sleep 603 & sleep 604" &) ; wait'),
      countChildren: async (container) => processesOf(container.id) - 1 + (container.state === 'exited' ? 1 : 0),
      print: (words) => shell(`echo "${words}"`),
      output,
      ownVariables: [],
      missingWorkingDirectory: 'made',
    },
    imagesWithoutCommand: 'run',
  },
  createHarness,
);

testBlockDevices('cri runtime', createHarness);

testRuntimeStreams(
  'cri runtime',
  {
    runForever: ['/bin/sleep', '600'],
    echo: ['/bin/cat'],
    bothOutputs: shell('echo out; echo err >&2; exit 3'),
    flood: ['/bin/yes'],
    unknownCommand: ['no-such-program-here'],
    terminalSize: shell('while read line; do stty size; done'),
    echoServer: (port) => ['/bin/nc', '-ll', '-p', String(port), '-e', '/bin/cat'],
    countProcesses: processesOf,
    execOutlivesItsCaller: true,
  },
  createHarness,
);

/** Every container is the first process of a namespace of its own: it lives on without the sandbox's. */
const OWN_PROCESSES: SandboxIsolation = {
  ports: [],
  namespaces: { network: 'pod', ipc: 'pod', pid: 'container' },
  sysctls: {},
  privileged: false,
  supplementalGroups: [],
  annotations: {},
};

const PLAIN: ContainerIsolation = {
  resources: { cpuShares: 2, oomScoreAdjust: 1000 },
  security: {
    privileged: false,
    addCapabilities: [],
    dropCapabilities: [],
    supplementalGroups: [],
    readOnlyRoot: false,
    noNewPrivileges: false,
    unmasked: false,
  },
};

test('[SAFE-12] cri runtime: containers that outlived their sandbox end before the next one begins', async () => {
  const harness = await createHarness();
  try {
    const { runtime } = harness;
    const first = await runtime.runSandbox({ ...sandboxConfig('u1'), isolation: OWN_PROCESSES });
    const config = containerConfig(shell('trap "exit 0" TERM; sleep 600 & wait'), { isolation: PLAIN });
    const id = await runtime.createContainer(first, config);
    await runtime.startContainer(id);
    containerd.ctr(['tasks', 'kill', '-s', 'SIGKILL', first]);
    await eventually(async () => (await runtime.list())[0]?.state === 'notReady', 'the sandbox is seen to be gone');
    assert.equal((await containerOf(runtime, id)).state, 'running');
    const second = await runtime.runSandbox(sandboxConfig('u1', 1));
    assert.equal((await containerOf(runtime, id)).state, 'exited');
    assert.deepEqual(
      (await runtime.list()).map((sandbox) => [sandbox.id, sandbox.state]),
      [
        [first, 'notReady'],
        [second, 'ready'],
      ],
    );
  } finally {
    await harness.dispose();
  }
});

test('cri runtime: a log that grew too long is rotated, and a follower sees each line exactly once', async (t) => {
  const harness = await createHarness();
  let isOver = false;
  t.after(() => {
    isOver = true;
  });
  const connection = new CriConnection(containerd.endpoint, clock);
  try {
    const { runtime } = harness;
    const sandbox = await runtime.runSandbox(sandboxConfig('u1'));
    // Continues until it is stopped, however late it is observed.
    const count = 'i=0; while [ ! -e /enough ]; do i=$((i+1)); echo line $i; usleep 1000; done';
    const id = await runtime.createContainer(sandbox, containerConfig(shell(count)));
    await runtime.startContainer(id);
    const { logPath = '' } = await containerOf(runtime, id);
    let seen = '';
    const following = (async () => {
      const request = { path: logPath, format: 'cri', isOver: async () => isOver } as const;
      for await (const block of readLogFile(clock, request)) seen += Buffer.from(block);
    })();
    await eventually(() => seen !== '', 'it is followed');
    await eventually(async () => {
      await rotateLog({ connection, limits: { maxBytes: 1_000, maxFiles: 5 } }, id, logPath);
      return existsSync(`${logPath}.2`);
    }, 'the log was replaced');
    await runtime.exec(id, ['/bin/touch', '/enough'], 30_000);
    const ended = await exited(runtime, id);
    const parts = [2, 1].map((age) => ({ ...ended, logPath: `${logPath}.${age}` }));
    const lines = `${(await Promise.all(parts.map(output))).join('')}${await output(ended)}`.trim().split('\n');
    assert.deepEqual(
      lines,
      lines.map((_, i) => `line ${i + 1}`),
    );
    isOver = true;
    await following;
    assert.deepEqual(seen.trim().split('\n'), lines, 'who followed saw each of them once');
  } finally {
    connection.close();
    await harness.dispose();
  }
});

test('cri runtime: the usage of running containers is measured', async () => {
  const harness = await createHarness();
  try {
    const { runtime } = harness;
    const sandbox = await runtime.runSandbox(sandboxConfig('u1'));
    const busy = shell('i=0; while [ $i -lt 200000 ]; do i=$((i+1)); done; sleep 600');
    const id = await runtime.createContainer(sandbox, containerConfig(busy));
    await runtime.startContainer(id);
    const [used] = await eventually(async () => {
      const all = (await runtime.usage?.()) ?? [];
      return (all[0]?.cpuNanoseconds ?? 0) > 0 && all;
    }, 'it used a processor');
    assert.deepEqual([used?.podUid, used?.container], ['u1', 'main']);
    assert.ok((used?.memoryBytes ?? 0) > 0 && (used?.at ?? 0) > 0);
  } finally {
    await harness.dispose();
  }
});

test('cri runtime: it reports its name', async () => {
  const harness = await createHarness();
  try {
    assert.match(await harness.runtime.version(), /^containerd:\/\/\d+\.\d+/);
  } finally {
    await harness.dispose();
  }
});

test('cri runtime: [USERNS-08] a runtime that does not report user namespaces is not trusted with a pod that requires one', async () => {
  const harness = await createHarness();
  try {
    const { runtime } = harness;
    const [, major = '0'] = /:\/\/v?(\d+)/.exec(await runtime.version()) ?? [];
    const refusal = await runtime.userNamespaces?.refusal('');
    if (Number(major) < 2) assert.match(refusal ?? '', /does not report support for user namespaces/);
    assert.match((await runtime.userNamespaces?.refusal('no-such-handler')) ?? '', /user namespaces|is not known/);
  } finally {
    await harness.dispose();
  }
});

test('cri runtime: it lists the images in use, including its own, and their path', async () => {
  const harness = await createHarness();
  try {
    const { runtime } = harness;
    const images = runtime.images ?? assert.fail('this runtime has images');
    const sandbox = await runtime.runSandbox(sandboxConfig('u1'));
    await runtime.createContainer(sandbox, containerConfig(['sleep', '600']));
    const used = await images.used();
    const isUsed = async (name: string): Promise<boolean> => {
      const { id = '', names = [] } = (await images.status(name)) ?? {};
      return [id, ...names].some((each) => used.has(each));
    };
    assert.ok(await isUsed('busybox:1.36'), 'a container has it, though it has not run yet');
    const own = (await images.list()).filter(({ names }) => names.some((name) => name.includes('pause')));
    assert.ok(own.length > 0 && own.every(({ id, names }) => [id, ...names].some((each) => used.has(each))));
    assert.ok(existsSync((await images.directory()) ?? ''), 'images lie on this disk');
  } finally {
    await harness.dispose();
  }
});
