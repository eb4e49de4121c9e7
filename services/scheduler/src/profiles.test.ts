import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Json } from '@holdfast/machinery';
import { decodeConfiguration } from './configuration/configuration.ts';
import { nodeOf, podPath, rig } from './testing/rig.ts';

const FILE = { apiVersion: 'kubescheduler.config.k8s.io/v1', kind: 'KubeSchedulerConfiguration' };

test('each profile schedules the pods that name it, with its own plugins and name', async () => {
  const packing = {
    schedulerName: 'packing',
    pluginConfig: [{ name: 'NodeResourcesFit', args: { scoringStrategy: { type: 'MostAllocated' } } }],
    plugins: { score: { disabled: [{ name: '*' }], enabled: [{ name: 'NodeResourcesFit' }] } },
  };
  const configuration = decodeConfiguration({ ...FILE, profiles: [{ schedulerName: 'default-scheduler' }, packing] });
  const { clock, addNode, addPod, pod, events, stop } = await rig(1, { configuration });
  addNode('used');
  addPod('first', { cpu: '2', memory: '4Gi' });
  await clock.advance(100);
  addNode('empty');
  await clock.advance(100);
  addPod('spread', { cpu: '1', memory: '2Gi' });
  addPod('packed', { cpu: '1', memory: '2Gi', spec: { schedulerName: 'packing' } });
  addPod('foreign', { spec: { schedulerName: 'another' } });
  await clock.advance(1_000);
  assert.deepEqual(
    ['spread', 'packed', 'foreign'].map((name) => nodeOf(pod(name))),
    ['empty', 'used', undefined],
  );
  const sources = events('Scheduled').map(
    ({ involvedObject, reportingComponent }) => `${involvedObject.name} by ${reportingComponent}`,
  );
  assert.deepEqual(
    sources.toSorted((a, b) => (a < b ? -1 : 1)),
    ['first by default-scheduler', 'packed by packing', 'spread by default-scheduler'],
  );
  await stop();
});

interface Question {
  readonly verb: string;
  readonly body: unknown;
}

/** A scheduler with one extender that answers from a table. */
async function withExtender(extender: Record<string, Json>, answers: Readonly<Record<string, Json>>) {
  const asked: Question[] = [];
  const configuration = decodeConfiguration({ ...FILE, extenders: [{ urlPrefix: 'http://extender', ...extender }] });
  const made = await rig(1, {
    configuration,
    post: async (_, verb, body) => {
      asked.push({ verb, body });
      const answer = answers[verb];
      if (answer === undefined) throw new Error('the extender is down');
      return answer;
    },
  });
  for (const name of ['a', 'b', 'c']) made.addNode(name, { cpu: '1' });
  await made.clock.advance(100);
  return { ...made, asked };
}

test('an extender filters, its reasons are reported, and any event triggers a retry', async () => {
  const { clock, addNode, addPod, pod, asked, stop } = await withExtender(
    { filterVerb: 'filter', nodeCacheCapable: true },
    { filter: { NodeNames: ['b'], FailedNodes: { a: 'too warm' }, FailedAndUnresolvableNodes: { c: 'too cold' } } },
  );
  addPod('p', { cpu: '1' });
  await clock.advance(1_000);
  assert.equal(nodeOf(pod('p')), 'b');
  assert.deepEqual(asked[0]?.verb, 'filter');
  assert.deepEqual(JSON.parse(JSON.stringify(asked[0]?.body)).NodeNames.toSorted(), ['a', 'b', 'c']);
  addPod('q', { cpu: '1' });
  await clock.advance(1_000);
  const message = pod('q')?.status.conditions?.[0]?.message ?? '';
  assert.match(message, /^0\/3 nodes are available: 1 Insufficient cpu, 1 too cold, 1 too warm\. preemption: 0\/3/);
  const before = asked.length;
  addNode('d', { cpu: '1m' });
  await clock.advance(5_000);
  assert.ok(asked.length > before);
  await stop();
});

test('an extender scores, and its scores are added to those of the plugins', async () => {
  const answers = {
    score: [
      { Host: 'a', Score: 0 },
      { host: 'c', score: 10 },
    ],
  };
  const { clock, addPod, pod, stop } = await withExtender({ prioritizeVerb: 'score', weight: 5 }, answers);
  addPod('p');
  await clock.advance(1_000);
  assert.equal(nodeOf(pod('p')), 'c');
  await stop();
});

test('a failed extender stops the decision unless it is ignorable, and applies only to its managed resources', async () => {
  const needed = await withExtender({ filterVerb: 'filter' }, {});
  needed.addPod('p');
  await needed.clock.advance(1_000);
  const condition = needed.pod('p')?.status.conditions?.[0];
  assert.deepEqual(
    [nodeOf(needed.pod('p')), condition?.reason, condition?.message],
    [undefined, 'SchedulerError', 'the extender is down'],
  );
  await needed.stop();
  const ignorable = await withExtender({ filterVerb: 'filter', ignorable: true }, {});
  ignorable.addPod('p');
  await ignorable.clock.advance(1_000);
  assert.notEqual(nodeOf(ignorable.pod('p')), undefined);
  await ignorable.stop();
  const managing = await withExtender(
    { filterVerb: 'filter', managedResources: [{ name: 'test.dev/x', ignoredByScheduler: true }] },
    { filter: { NodeNames: ['c'] } },
  );
  const containers = [{ name: 'c', image: 'i', resources: { requests: { 'test.dev/x': '1' } } }];
  managing.addPod('other');
  managing.addPod('p', { spec: { containers } });
  await managing.clock.advance(1_000);
  assert.equal(nodeOf(managing.pod('p')), 'c', 'no node has the resource, and nobody else counts it');
  assert.equal(managing.asked.length, 1);
  await managing.stop();
});

test('an extender chooses victims and binds', async () => {
  const preempting = await withExtender(
    { preemptVerb: 'preempt', nodeCacheCapable: true },
    { preempt: { NodeNameToMetaVictims: { b: { Pods: [{ UID: 'uid-default-low-b' }], NumPDBViolations: 0 } } } },
  );
  for (const name of ['a', 'b', 'c']) {
    preempting.addPod(`low-${name}`, { cpu: '1', spec: { nodeSelector: { 'kubernetes.io/hostname': name } } });
  }
  await preempting.clock.advance(1_000);
  preempting.addPod('high', { cpu: '1', spec: { priority: 10 } });
  await preempting.clock.advance(15_000);
  assert.equal(nodeOf(preempting.pod('high')), 'b');
  await preempting.stop();
  const binding = await withExtender({ bindVerb: 'bind' }, { bind: { Error: '' } });
  binding.addPod('p', { spec: { nodeSelector: { 'kubernetes.io/hostname': 'a' } } });
  await binding.clock.advance(1_000);
  const bind = binding.asked.find(({ verb }) => verb === 'bind');
  assert.deepEqual(bind?.body, { PodName: 'p', PodNamespace: 'default', PodUID: 'uid-default-p', Node: 'a' });
  assert.equal(binding.api.requests.filter(({ path }) => path.endsWith('/binding')).length, 0);
  await binding.stop();
});

test('a pod deleted during an extender call preempts nothing', async () => {
  const asked = Promise.withResolvers<void>();
  const configuration = decodeConfiguration({
    ...FILE,
    extenders: [{ urlPrefix: 'http://extender', preemptVerb: 'preempt', nodeCacheCapable: true }],
  });
  const answer = { NodeNameToMetaVictims: { a: { Pods: [{ UID: 'uid-default-low' }] } } };
  const { clock, api, addNode, addPod, schedulers, stop } = await rig(1, {
    configuration,
    post: () => asked.promise.then(() => answer),
  });
  addNode('a', { cpu: '1' });
  addPod('low', { cpu: '1' });
  await clock.advance(1_000);
  addPod('high', { cpu: '1', spec: { priority: 10 } });
  await clock.advance(1_000);
  api.remove(podPath('high'));
  await clock.advance(1_000);
  asked.resolve();
  await clock.advance(1_000);
  assert.equal(schedulers[0]?.counters().preemptions, 0);
  assert.equal(api.requests.filter(({ method }) => method === 'DELETE').length, 0);
  await stop();
});
