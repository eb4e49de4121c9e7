import assert from 'node:assert/strict';
import { test } from 'node:test';
import { MIB, podUsing } from '../testing/pressure.ts';
import { containerKey, createCpuRates, MACHINE } from './cpu-rates.ts';
import type { NodeSample } from './port.ts';
import { createStatsRoutes } from './routes.ts';

const SECOND = 1_000_000_000;
const START = 1_767_225_600_000;

function sampleAt(seconds: number, cpuSeconds: number, startedAt = START): NodeSample {
  const use = podUsing('web', { memory: 3 * MIB, logs: { bytes: 10, inodes: 1 } });
  const [container] = use.containers;
  assert.ok(container !== undefined);
  const busy = { ...container, startedAt, cpuNanoseconds: cpuSeconds * SECOND };
  return {
    at: START + seconds * 1_000,
    machine: { cpuNanoseconds: 2 * cpuSeconds * SECOND, memory: { capacityBytes: 10 * MIB, availableBytes: 4 * MIB } },
    pods: [{ ...use, containers: [busy] }],
  };
}

test('a rate covers the last sufficient interval, and at first the whole lifetime', () => {
  const rates = createCpuRates();
  const web = containerKey('web', 'main');
  rates.observe(sampleAt(4, 2));
  assert.equal(rates.rate(web), SECOND / 2, 'since its start');
  assert.equal(rates.rate(MACHINE), undefined, 'nobody knows since when');
  rates.observe(sampleAt(14, 12));
  assert.equal(rates.rate(web), SECOND);
  assert.equal(rates.rate(MACHINE), 2 * SECOND);
  rates.observe(sampleAt(16, 12));
  assert.equal(rates.rate(web), Math.round((SECOND * 10) / 12), 'two seconds alone say little');
  rates.observe(sampleAt(17, 1));
  assert.equal(rates.rate(web), undefined, 'a counter that fell is that of another life');
  rates.observe(sampleAt(19, 0.5, START + 18_000));
  assert.equal(rates.rate(web), SECOND / 2, 'since the start of this life');
  assert.equal(rates.rate(MACHINE), undefined, 'nobody knows since when');
  rates.observe({ ...sampleAt(20, 2), pods: [] });
  assert.equal(rates.rate(web), undefined);
});

test('the paths of a kubelet: its summary, and the same for Prometheus', async () => {
  let looks = 0;
  const routes = createStatsRoutes({
    nodeName: 'n1',
    cores: 4,
    stats: {
      sample: async ({ disk }) => {
        looks += disk ? 1 : 0;
        return sampleAt(20, 10);
      },
    },
    evictions: () => new Map([['memory.available', 2]]),
    probes: () => 'prober_probe_total 1\n',
    relists: () => 'kubelet_pleg_relist_duration_seconds_count 1\n',
  });
  const ask = async (path: string, query = ''): Promise<string> => {
    const answer = await routes(path, new URLSearchParams(query));
    if (answer?.body.kind === 'text') return answer.body.text;
    return answer?.body.kind === 'json' ? JSON.stringify(answer.body.value()) : '';
  };
  const time = '2026-01-01T00:00:20Z';
  const summary: unknown = JSON.parse(await ask('/stats/summary'));
  const cpu = { time, usageNanoCores: SECOND / 2, usageCoreNanoSeconds: 10 * SECOND };
  const memory = { time, usageBytes: 3 * MIB, workingSetBytes: 3 * MIB };
  const logs = { time, usedBytes: 10, inodesUsed: 1 };
  assert.deepEqual(summary, {
    node: {
      nodeName: 'n1',
      cpu: { time, usageCoreNanoSeconds: 20 * SECOND },
      memory: { time, availableBytes: 4 * MIB, usageBytes: 6 * MIB, workingSetBytes: 6 * MIB },
    },
    pods: [
      {
        podRef: { name: 'web', namespace: 'default', uid: 'web' },
        containers: [{ name: 'main', startTime: '2026-01-01T00:00:00Z', cpu, memory, logs }],
        cpu,
        memory,
        'ephemeral-storage': logs,
      },
    ],
  });
  assert.equal(looks, 1);
  await ask('/stats/summary', 'only_cpu_and_memory=true');
  assert.equal(looks, 1, 'who asks for little does not have files walked');
  const resource = await ask('/metrics/resource');
  const stamp = START + 20_000;
  assert.ok(
    resource.includes(
      `container_cpu_usage_seconds_total{container="main",namespace="default",pod="web"} 10 ${stamp}\n`,
    ),
    resource,
  );
  assert.ok(resource.includes(`pod_memory_working_set_bytes{namespace="default",pod="web"} ${3 * MIB} ${stamp}\n`));
  assert.ok(
    resource.includes(`# TYPE node_cpu_usage_seconds_total counter\nnode_cpu_usage_seconds_total 20 ${stamp}\n`),
  );
  const cadvisor = await ask('/metrics/cadvisor');
  assert.match(cadvisor, /^machine_cpu_cores 4 /m);
  assert.match(
    cadvisor,
    /^container_cpu_usage_seconds_total\{container="main",image="i",namespace="default",pod="web"\} 10 /m,
  );
  const own = await ask('/metrics');
  assert.match(own, /\nkubelet_pleg_relist_duration_seconds_count 1\n/);
  assert.match(own, /^kubelet_evictions\{eviction_signal="memory.available"\} 2$/m);
  assert.match(own, /^kubelet_running_pods 1$/m);
  assert.equal(await ask('/metrics/probes'), 'prober_probe_total 1\n');
  assert.equal(await ask('/metrics/other'), '');
});
