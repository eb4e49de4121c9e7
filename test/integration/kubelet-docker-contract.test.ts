import assert from 'node:assert/strict';
import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { after, test } from 'node:test';
import { createDockerRuntime } from '@holdfast/kubelet/docker-runtime';
import { createSilentLog, createSystemClock } from '@holdfast/platform';
import {
  containerConfig,
  eventually,
  type RuntimeHarness,
  sandboxConfig,
  testContainerRuntime,
} from '../../services/kubelet/src/runtime/contract.ts';
import { testRuntimeStreams } from '../../services/kubelet/src/runtime/contract-streams.ts';
import type { ContainerRuntime, ContainerStatus } from '../../services/kubelet/src/runtime/port.ts';
import { testBlockDevices } from '../support/block-devices.ts';
import { TestDockerd } from '../support/dockerd.ts';

const dockerd = await TestDockerd.start();
after(() => dockerd[Symbol.asyncDispose]());

const clock = createSystemClock();

const open = (stateDirectory: string, nodeName = 'n1'): ContainerRuntime =>
  createDockerRuntime({
    endpoint: dockerd.endpoint,
    stateDirectory,
    nodeName,
    nodeAddress: () => '192.0.2.7',
    clock,
    log: createSilentLog(),
  });

async function createHarness(): Promise<RuntimeHarness & { readonly stateDirectory: string }> {
  const stateDirectory = mkdtempSync(path.join(tmpdir(), 'holdfast-docker-state-'));
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
  'docker runtime',
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

testBlockDevices('docker runtime', createHarness);

testRuntimeStreams(
  'docker runtime',
  {
    runForever: ['/bin/sleep', '600'],
    echo: ['/bin/cat'],
    bothOutputs: shell('echo out; echo err >&2; exit 3'),
    flood: ['/bin/yes'],
    unknownCommand: ['no-such-program-here'],
    terminalSize: shell('while read line; do stty size; done'),
    echoServer: (port) => ['/bin/nc', '-ll', '-p', String(port), '-e', '/bin/cat'],
    countProcesses: processesOf,
  },
  createHarness,
);

test('docker runtime: the usage of running containers is measured', async () => {
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
