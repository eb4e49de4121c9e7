import assert from 'node:assert/strict';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { createSeededRandom, createSystemClock } from '@holdfast/platform';
import { createMachineProbe } from '../adapters/machine-probe.ts';
import { containerFiles } from '../container/container-files.ts';
import { exceededLimit } from '../eviction/local-limits.ts';
import { createHollowRuntime } from '../runtime/hollow/index.ts';
import type { SandboxStatus } from '../runtime/port.ts';
import type { MarkedProcess } from '../runtime/process/process-table.ts';
import { cpuTicks, createUsageMeter, ownKibibytes } from '../runtime/process/usage.ts';
import { podOf } from '../testing/pod-world.ts';
import { createNodeStats } from './node-stats.ts';
import { podDisk, podMemory } from './port.ts';

test('this machine reports its free resources', async (t) => {
  const directory = mkdtempSync(join(tmpdir(), 'holdfast-probe-'));
  t.after(() => rmSync(directory, { recursive: true }));
  const probe = createMachineProbe(directory);
  const { memory, nodeFs, processes, cpuNanoseconds = 0 } = probe.sample();
  assert.ok(memory !== undefined && memory.availableBytes > 0 && memory.availableBytes <= memory.capacityBytes);
  assert.ok(nodeFs !== undefined && nodeFs.availableBytes <= nodeFs.capacityBytes);
  assert.ok(processes !== undefined && processes.running > 0 && processes.running < processes.max);
  assert.ok(cpuNanoseconds > 0);
  writeFileSync(join(directory, 'file'), Buffer.alloc(100_000, 1));
  const use = await probe.diskUse(directory);
  assert.equal(use.inodes, 2);
  assert.ok(use.bytes >= 100_000);
  assert.deepEqual(await probe.diskUse(join(directory, 'nobody')), { bytes: 0, inodes: 0 });
});

test('containers, their logs and the volumes of a pod are added up', async () => {
  const clock = createSystemClock();
  const runtime = createHollowRuntime({
    clock,
    random: createSeededRandom(1, 'stats'),
    startDelayMs: { min: 0, max: 0 },
  });
  const pod = podOf({ volumes: [{ name: 'scratch', emptyDir: {} }] });
  const config = { podUid: 'u1', podName: 'p', podNamespace: 'default', hostname: 'p', attempt: 0 };
  const sandbox = await runtime.runSandbox(config);
  const id = await runtime.createContainer(sandbox, {
    name: 'main',
    image: 'i',
    command: ['stay'],
    args: [],
    env: {},
    restartCount: 0,
  });
  await runtime.startContainer(id);
  const measured = {
    ...runtime,
    list: async () =>
      (await runtime.list()).map((each) => ({
        ...each,
        volumesPath: '/v',
        containers: each.containers.map((one) => ({ ...one, logPath: '/log' })),
      })),
    usage: async () => [
      { podUid: 'u1', container: 'main', at: 0, cpuNanoseconds: 7, memoryBytes: 2_048, processes: 3 },
      { podUid: 'other', container: 'main', at: 0, cpuNanoseconds: 9, memoryBytes: 9, processes: 9 },
    ],
  };
  const machine = {
    sample: () => ({}),
    room: () => undefined,
    diskUse: (path: string) => Promise.resolve({ bytes: path === '/log' ? 10 : 32, inodes: 1 }),
  };
  const stats = createNodeStats({ runtime: measured, clock, pods: () => [pod], machine });
  const [walked] = (await stats.sample({ disk: true })).pods;
  assert.ok(walked !== undefined);
  assert.deepEqual(walked.volumes, { scratch: { bytes: 32, inodes: 1 } });
  assert.deepEqual([podMemory(walked), podDisk(walked), walked.processes], [2_048, { bytes: 74, inodes: 3 }, 3]);
  const [quick] = (await stats.sample({ disk: false })).pods;
  assert.ok(quick !== undefined);
  assert.deepEqual([podMemory(quick), podDisk(quick)], [2_048, undefined], 'files are only walked when asked for');
});

test('[CVE-2020-8557] writes of a pod to its /etc/hosts count against its storage limit', async (t) => {
  const volumesPath = mkdtempSync(join(tmpdir(), 'holdfast-hosts-'));
  t.after(() => rmSync(volumesPath, { recursive: true }));
  const container = { name: 'main', image: 'i', resources: { limits: { 'ephemeral-storage': '1Mi' } } };
  const pod = podOf({ containers: [container] });
  const dns = { domain: 'cluster.local', servers: [] };
  const files = { pod, container, restartCount: 0, podIp: '', path: volumesPath, nodeHostname: 'n', dns };
  const written = await containerFiles(files);
  const config = { podUid: 'u1', podName: 'p', podNamespace: 'default', hostname: 'p', attempt: 0 };
  const sandbox = { id: 's', config, state: 'ready', createdAt: 0, ip: '', containers: [], volumesPath } as const;
  const clock = createSystemClock();
  const runtime = {
    ...createHollowRuntime({ clock, random: createSeededRandom(1, 'hosts'), startDelayMs: { min: 0, max: 0 } }),
    list: () => Promise.resolve([sandbox]),
  };
  const stats = createNodeStats({ runtime, clock, pods: () => [pod], machine: createMachineProbe(volumesPath) });
  const exceeded = async (): Promise<string | undefined> => {
    const [sample] = (await stats.sample({ disk: true })).pods;
    assert.ok(sample !== undefined);
    return exceededLimit(sample)?.signal;
  };
  assert.equal(await exceeded(), undefined);
  for (const target of ['/etc/hosts', '/dev/termination-log']) {
    const file = written.find((each) => each.target === target)?.source ?? '';
    const before = readFileSync(file);
    writeFileSync(file, Buffer.alloc(2 * 1024 ** 2, 1));
    assert.equal(await exceeded(), 'ephemeralpodfs.limit', target);
    writeFileSync(file, before);
  }
  assert.equal(await exceeded(), undefined);
});

const measuredSandbox = (startedAt: number): SandboxStatus => {
  const config = { podUid: 'u1', podName: 'p', podNamespace: 'default', hostname: 'p', attempt: 0 };
  const main = { name: 'main', image: 'i', restartCount: 0 };
  const container = { id: 'c1', config: main, state: 'running', createdAt: 0, startedAt } as const;
  return { id: 's', config, state: 'ready', createdAt: 0, ip: '', containers: [container] };
};

test('processes belong to the container of their mark, and of their session when they removed it', () => {
  assert.equal(cpuTicks('12 (a b) c) S 1 12 12 0 -1 4194304 1 2 3 4 100 20 3 4 20 0 1 0 99 0 0'), 127);
  assert.equal(ownKibibytes('VmRSS:\t 999 kB\nRssAnon:\t 100 kB\nRssFile:\t 800 kB\nRssShmem:\t 5 kB\n'), 105);
  const entry = { parent: 1, group: 9, startTicks: '1', zombie: false, isStarting: false };
  const processes = [
    { ...entry, pid: process.pid, session: 9, marker: 'c1' },
    { ...entry, pid: process.pid, session: 9, marker: '' },
    { ...entry, pid: process.pid, session: 8, marker: '' },
  ];
  const [usage] = createUsageMeter().measure([measuredSandbox(1)], processes, 5);
  assert.deepEqual([usage?.container, usage?.processes, usage?.at], ['main', 2, 5]);
  assert.ok((usage?.memoryBytes ?? 0) > 2 * 1024 ** 2);
});

test('the CPU time of a container includes processes that ended, and never decreases', () => {
  const cpu = new Map([[10, 500]]);
  const meter = createUsageMeter((pid) => ({ cpuNanoseconds: cpu.get(pid) ?? 0, memoryBytes: 1 }));
  const entry = { group: 9, session: 9, startTicks: '1', zombie: false, isStarting: false, marker: 'c1' };
  const process = (pid: number, parent: number): MarkedProcess => ({ ...entry, pid, parent });
  const main = process(10, 1);
  const total = (processes: readonly MarkedProcess[], startedAt = 1): number | undefined =>
    meter.measure([measuredSandbox(startedAt)], processes, 5)[0]?.cpuNanoseconds;
  assert.equal(total([main]), 500);
  cpu.set(20, 300);
  assert.equal(total([main, process(20, 1)]), 800);
  cpu.set(20, 0);
  assert.equal(total([main, process(20, 1)]), 800, 'it ended after it was seen');
  assert.equal(total([main]), 800, 'a process of exec ended');
  cpu.set(30, 100);
  assert.equal(total([main, process(30, 10)]), 900);
  assert.equal(total([main]), 900, 'a child ended, and its parent does not ask how');
  cpu.set(10, 650);
  assert.equal(total([main]), 950, 'the kernel adds a child to its parent');
  assert.equal(total([]), undefined, 'its processes are not seen for a moment');
  assert.equal(total([main]), 950);
  assert.equal(total([main], 2), 650, 'it began again');
});
