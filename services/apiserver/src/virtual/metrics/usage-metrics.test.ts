import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { ApiRequest, ApiResponse } from '@holdfast/client';
import { startTestApi, type TestApi } from '../../testing/fixture.ts';

const METRICS = '/apis/metrics.k8s.io/v1beta1';
const TIME = '2026-01-01T00:00:00Z';

const usage = (cpu: number, memory: number): object => ({
  cpu: { time: TIME, usageNanoCores: cpu, usageCoreNanoSeconds: 1 },
  memory: { time: TIME, workingSetBytes: memory },
});

/** Two nodes, of which one answers, each with one pod. */
async function cluster(t: { after(run: () => Promise<void>): void }): Promise<{ api: TestApi; asked: string[] }> {
  const asked: string[] = [];
  const uids: string[] = [];
  const request = async (node: string, { path }: ApiRequest): Promise<ApiResponse> => {
    asked.push(`${node} ${path}`);
    if (node !== 'a') throw new Error('nobody answers');
    const containers = [{ name: 'web', ...usage(1_500_000, 2_048) }];
    const value = { node: usage(250_000_000, 1_048_577), pods: [{ podRef: { uid: uids[0] }, containers }] };
    const bytes = Buffer.from(JSON.stringify(value));
    const chunks = (async function* () {
      yield bytes.subarray(0, 10);
      yield bytes.subarray(10);
    })();
    return { status: 200, headers: {}, body: { kind: 'stream', chunks } };
  };
  const api = await startTestApi({ nodes: () => ({ request }) });
  t.after(() => api.stop());
  for (const name of ['a', 'b']) {
    const labels = { zone: name };
    await api.call('POST', '/api/v1/nodes', { body: { apiVersion: 'v1', kind: 'Node', metadata: { name, labels } } });
    const spec = { nodeName: name, containers: [{ name: 'web', image: 'i' }] };
    const metadata = { name: `on-${name}`, labels: { app: name } };
    const pods = '/api/v1/namespaces/default/pods';
    const pod = await api.call('POST', pods, { body: { apiVersion: 'v1', kind: 'Pod', metadata, spec } });
    uids.push(pod.textAt('metadata.uid'));
    const state = { name: 'web', image: 'i', imageID: '', ready: true, restartCount: 0, state: { running: {} } };
    const status = { phase: 'Running', containerStatuses: [state] };
    const patch = { headers: { 'content-type': 'application/merge-patch+json' }, body: { status } };
    assert.equal((await api.call('PATCH', `${pods}/on-${name}/status`, patch)).status, 200);
  }
  return { api, asked };
}

test('node metrics are the measurements of the kubelets; a node that does not answer is omitted', async (t) => {
  const { api, asked } = await cluster(t);
  const list = await api.call('GET', `${METRICS}/nodes`);
  assert.deepEqual([list.status, list.at('kind'), list.names()], [200, 'NodeMetricsList', ['a']]);
  assert.deepEqual(list.at('items.0.usage'), { cpu: '250000000n', memory: '1025Ki' });
  assert.deepEqual([list.at('items.0.timestamp'), list.at('items.0.window')], [TIME, '10s']);
  assert.deepEqual(asked.toSorted(), ['a /stats/summary', 'b /stats/summary']);
  assert.equal((await api.call('GET', `${METRICS}/nodes/a`)).at('kind'), 'NodeMetrics');
  const missing = await api.call('GET', `${METRICS}/nodes/b`);
  assert.deepEqual([missing.status, missing.textAt('message')], [404, 'nodes.metrics.k8s.io "b" not found']);
});

test('pod metrics of one namespace, of all, and by label query only the nodes of the pods', async (t) => {
  const { api, asked } = await cluster(t);
  const chosen = await api.call('GET', `${METRICS}/namespaces/default/pods?labelSelector=app%3Da`);
  assert.deepEqual(chosen.names(), ['on-a']);
  assert.deepEqual(chosen.at('items.0.containers'), [{ name: 'web', usage: { cpu: '1500000n', memory: '2Ki' } }]);
  assert.deepEqual(asked, ['a /stats/summary']);
  assert.deepEqual((await api.call('GET', `${METRICS}/pods`)).names(), ['on-a']);
  assert.deepEqual((await api.call('GET', `${METRICS}/namespaces/other/pods`)).names(), []);
  assert.equal((await api.call('GET', `${METRICS}/namespaces/default/pods/on-a`)).textAt('metadata.name'), 'on-a');
  assert.equal((await api.call('GET', `${METRICS}/namespaces/default/pods/on-b`)).status, 404);
  assert.equal((await api.call('GET', `${METRICS}/pods?labelSelector=%3D%3D%3D`)).status, 400);
  assert.equal((await api.call('POST', `${METRICS}/namespaces/default/pods`, { body: {} })).status, 405);
  assert.equal((await api.call('GET', `${METRICS}/pods`, { as: 'nobody' })).status, 403);
});

test('clients find the group in discovery', async (t) => {
  const { api } = await cluster(t);
  const groups = await api.call('GET', '/apis');
  assert.match(JSON.stringify(groups.body), /"metrics\.k8s\.io\/v1beta1"/);
  const resources = await api.call('GET', METRICS);
  assert.match(JSON.stringify(resources.body), /"kind":"PodMetrics"/);
});
