import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { HoldfastProcess } from '../support/holdfast-process.ts';
import { createKubectl } from '../support/kubectl.ts';
import { waitFor } from '../support/wait.ts';

let cluster: HoldfastProcess;
const { run, attempt, send } = createKubectl(() => cluster.ready.kubeconfig);

before(async () => {
  cluster = await HoldfastProcess.start(['--memory']);
  await send(['create'], {
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: { name: 'busy', namespace: 'default', labels: { app: 'busy' } },
    spec: {
      terminationGracePeriodSeconds: 0,
      containers: [
        { name: 'spins', image: 'busybox', command: ['/bin/sh', '-c', 'while :; do :; done'] },
        {
          name: 'rests',
          image: 'busybox',
          command: ['sleep', '3600'],
          readinessProbe: {
            exec: { command: ['sh', '-c', 'i=0; while [ $i -lt 20000 ]; do i=$((i+1)); done'] },
            periodSeconds: 1,
          },
        },
      ],
    },
  });
});
after(() => cluster[Symbol.asyncDispose]());

test('top pod shows the usage of the processes of a pod, also by container and by label', async () => {
  let row: readonly string[] = [];
  await waitFor('it was measured', async () => {
    const { stdout } = await attempt('top', 'pod', 'busy', '--no-headers');
    row = stdout.trim().split(/\s+/);
    return row.length === 3 && Number.parseInt(row[1] ?? '', 10) > 0;
  });
  assert.match(row.join(' '), /^busy \d+m \d+Mi$/);
  const containers = (await run('top', 'pod', '--containers', '-l', 'app=busy', '--no-headers')).trim().split('\n');
  assert.deepEqual(new Set(containers.map((line) => line.split(/\s+/)[1])), new Set(['rests', 'spins']));
  const cpuOf = (name: string): number => {
    const line = containers.find((each) => each.includes(` ${name} `)) ?? assert.fail(`no line of ${name}`);
    return Number.parseInt(line.split(/\s+/)[2] ?? '', 10);
  };
  assert.ok(cpuOf('spins') > cpuOf('rests'), containers.join('\n'));
  assert.match(await run('top', 'pod', '-A'), /default\s+busy/);
});

test('a pod is measured at every request, also while processes of its probes come and go', async () => {
  const path = '/apis/metrics.k8s.io/v1beta1/namespaces/default/pods';
  for (let request = 0; request < 40; request += 1) assert.match(await run('get', '--raw', path), /"name":"spins"/);
});

test('top node shows the usage of the machine, and its percentage', async () => {
  const [header = '', row = ''] = (await run('top', 'node')).trim().split('\n');
  assert.match(header, /^NAME\s+CPU\(cores\)\s+CPU\(?%\)?\s+MEMORY\(bytes\)\s+MEMORY\(?%\)?/);
  assert.match(row, /^\S+\s+\d+m\s+\d+%\s+\d+Mi\s+\d+%/);
});

test('a node serves its own metrics under the paths of kubelets', async () => {
  const [node = ''] = (await run('get', 'nodes', '-o', 'jsonpath={.items[*].metadata.name}')).split(' ');
  const proxy = `/api/v1/nodes/${node}/proxy`;
  const summary: unknown = JSON.parse(await run('get', '--raw', `${proxy}/stats/summary`));
  assert.match(JSON.stringify(summary), /"podRef":\{"name":"busy"/);
  assert.match(
    await run('get', '--raw', `${proxy}/metrics/resource`),
    /^pod_cpu_usage_seconds_total\{namespace="default",pod="busy"\} \d/m,
  );
  assert.match(await run('get', '--raw', `${proxy}/metrics/cadvisor`), /^machine_memory_bytes \d/m);
  const probes = await waitFor('its probes are counted', async () => {
    const text = await run('get', '--raw', `${proxy}/metrics/probes`);
    return text.includes('prober_probe_total{') && text;
  });
  assert.match(
    probes,
    /^prober_probe_total\{probe_type="Readiness",result="successful",container="[a-z]+",pod="busy",namespace="default",pod_uid="[-0-9a-f]{36}"\} \d+$/m,
  );
  assert.match(await run('get', '--raw', `${proxy}/metrics`), /^kubelet_running_pods 1$/m);
});
