import assert from 'node:assert/strict';
import { test } from 'node:test';
import { HOLLOW_SCRIPT, PODS, type Pod } from '@holdfast/api';
import { startCluster } from './index.ts';

const pod = (name: string, script?: string, labels: Record<string, string> = {}): Pod => ({
  apiVersion: 'v1',
  kind: 'Pod',
  metadata: {
    name,
    namespace: 'default',
    labels,
    ...(script === undefined ? {} : { annotations: { [HOLLOW_SCRIPT]: script } }),
  },
  spec: { containers: [{ name: 'main', image: 'app', resources: {} }], restartPolicy: 'Never' },
  status: {},
});

test('pods do what their scripts say, also in a fork', async () => {
  const scripts = [
    { labels: { app: 'slow' }, script: 'ready after 20 s' },
    { namespace: 'other', script: 'never ready' },
  ];
  await using cluster = await startCluster({ clock: 'virtual', hollowNodes: 1, scripts });
  await cluster.client.create(PODS, pod('fails', 'runs 3s then exits 7'));
  await cluster.client.create(PODS, pod('slow', undefined, { app: 'slow' }));
  await cluster.client.create(PODS, pod('own', 'never ready', { app: 'slow' }));
  await cluster.client.create(PODS, pod('plain'));
  await cluster.client.create(PODS, pod('wrong', 'dances'));
  await cluster.advance('10s');
  await using fork = await (await cluster.snapshot()).fork();
  const seen = async (name: string): Promise<string> => {
    const { status } = await fork.client.get(PODS, { namespace: 'default', name });
    const container = status?.containerStatuses?.[0];
    return `${status?.phase} ${container?.ready} ${container?.state?.terminated?.exitCode ?? '-'}`;
  };
  assert.equal(await seen('fails'), 'Failed false 7');
  assert.equal(await seen('plain'), 'Running true -');
  assert.equal(await seen('slow'), 'Running false -');
  assert.equal(await seen('wrong'), 'Pending false -');
  await fork.advance('15s');
  assert.equal(await seen('slow'), 'Running true -');
  assert.equal(await seen('own'), 'Running false -');
});

test('scripts say how a pod ends: slowly, with a failure, or only by a kill', async () => {
  await using cluster = await startCluster({ clock: 'virtual', hollowNodes: 1 });
  await cluster.client.create(PODS, pod('slow', 'takes 10s to stop'));
  await cluster.client.create(PODS, pod('crash', 'crashes while terminating, takes 2s to stop'));
  await cluster.client.create(PODS, pod('deaf', 'ignores the stop signal'));
  await cluster.advance('5s');
  const endings = new Map<string, number>();
  const began = cluster.now();
  for (const name of ['slow', 'crash', 'deaf']) await cluster.client.delete(PODS, { namespace: 'default', name });
  for (let second = 0; second < 40; second += 1) {
    await cluster.advance('1s');
    const left = new Set((await cluster.client.list(PODS)).items.map(({ metadata }) => metadata.name));
    for (const name of ['slow', 'crash', 'deaf']) {
      if (!left.has(name) && !endings.has(name)) endings.set(name, Math.round((cluster.now() - began) / 1000));
    }
  }
  const [crash = 0, slow = 0, deaf = 0] = ['crash', 'slow', 'deaf'].map((name) => endings.get(name));
  assert.ok(crash >= 2 && crash <= 4 && slow >= 10 && slow <= 12 && deaf >= 30 && deaf <= 33, [...endings].join(' '));
});

test('a script that cannot be read is told with those that can', async () => {
  const refusal = { message: '"dances" is not a script', nextStep: /Use "runs 3s then exits 1", "ready after 2s"/ };
  await assert.rejects(startCluster({ scripts: [{ script: 'dances' }] }), refusal);
});
