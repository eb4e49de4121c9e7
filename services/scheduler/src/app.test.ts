import assert from 'node:assert/strict';
import { test } from 'node:test';
import { type Lease, NODES, type Pod, SELF_FENCED, SELF_FENCED_REASONS } from '@holdfast/api';
import { TransportError } from '@holdfast/client';
import { type FakeApi, pathFor } from '@holdfast/client/testing';
import { createSeededRandom } from '@holdfast/platform';
import fc from 'fast-check';
import { decodeConfiguration } from './configuration/configuration.ts';
import { EVENT_MESSAGE_BYTES_MAX } from './limits.ts';
import { buildPod } from './testing/builders.ts';
import { asPod, nodeOf, nominatedRig, podPath, rig, slowDeletions } from './testing/rig.ts';

test('binds a pod, records an event, and drops the assumption once it observed the binding', async () => {
  const { clock, schedulers, addNode, addPod, pod, events, stop } = await rig();
  addNode('n1');
  addPod('a', { cpu: '1' });
  await clock.advance(100);
  assert.equal(nodeOf(pod('a')), 'n1');
  const [event, ...others] = events('Scheduled');
  assert.equal(others.length, 0);
  assert.equal(event?.message, 'Successfully assigned default/a to n1');
  assert.deepEqual(
    [event.action, event.reportingComponent, event.reportingInstance, event.source, event.count, event.firstTimestamp],
    ['Binding', 'default-scheduler', 'default-scheduler-host-1', {}, undefined, null],
    'as recorders of events.k8s.io write it',
  );
  assert.match(String(event.eventTime), /\.\d{6}Z$/);
  assert.equal(schedulers[0]?.counters().assumed, 0);
  await stop();
});

test('[SPREAD-10] [SPREAD-38] a pod without a node reports why, once per change, and is scheduled when a node fits', async () => {
  const { clock, api, schedulers, addNode, addPod, pod, events, stop } = await rig();
  addNode('n1', { cpu: '1' });
  addNode('n2', { taints: [{ key: 'k', value: 'v', effect: 'NoSchedule' }] });
  addNode('n3', { unschedulable: true });
  await clock.advance(10);
  addPod('a', { cpu: '2' });
  await clock.advance(1_000);
  const message =
    '0/3 nodes are available: 1 Insufficient cpu, 1 node(s) had untolerated taint {k: v}, 1 node(s) were unschedulable. ' +
    'preemption: 0/3 nodes are available: 1 No preemption victims found for incoming pod, 2 Preemption is not helpful for scheduling.';
  const condition = pod('a')?.status.conditions?.[0];
  assert.deepEqual([condition?.status, condition?.reason, condition?.message], ['False', 'Unschedulable', message]);
  assert.deepEqual(
    events('FailedScheduling').map((event) => [event.type, event.action, event.message]),
    [['Warning', 'Scheduling', message]],
  );
  const writes = api.requests.filter(({ method }) => method === 'PATCH').length;
  const decisions = schedulers[0]?.counters().decisions;
  addNode('n3', { unschedulable: true });
  await clock.advance(60_000);
  assert.equal(
    api.requests.filter(({ method }) => method === 'PATCH').length,
    writes,
    'nothing changed, nothing is written',
  );
  assert.equal(schedulers[0]?.counters().decisions, decisions, 'a heartbeat of a node wakes nobody');
  addNode('n4');
  await clock.advance(15_000);
  assert.equal(nodeOf(pod('a')), 'n4');
  await stop();
});

test('an exclusive pod is not scheduled to a node that would release it, until the node promises again', async () => {
  const { clock, addNode, addPod, pod, events, stop } = await rig();
  const fenced = { type: SELF_FENCED, status: 'True', reason: SELF_FENCED_REASONS.exclusive };
  addNode('n1', { conditions: [fenced] });
  await clock.advance(10);
  const tolerations = [{ operator: 'Exists' }];
  addPod('web', { spec: { tolerations } });
  addPod('db-0', { spec: { tolerations, hostname: 'db-0' } });
  await clock.advance(1_000);
  assert.equal(nodeOf(pod('web')), 'n1', 'the node releases no pod without an identity');
  assert.equal(nodeOf(pod('db-0')), undefined);
  assert.match(
    String(events('FailedScheduling')[0]?.message),
    /^0\/1 nodes are available: 1 node\(s\) were self-fenced\./,
  );
  addNode('n1', { conditions: [{ ...fenced, status: 'False' }] });
  await clock.advance(15_000);
  assert.equal(nodeOf(pod('db-0')), 'n1');
  await stop();
});

test('an event longer than the Kubernetes limit is truncated; the condition has the full message', async () => {
  const { clock, addNode, addPod, pod, events, stop } = await rig();
  for (let i = 0; i < 20; i++) {
    addNode(`n${i}`, { taints: [{ key: `${i}k${'ä'.repeat(56)}`, value: '', effect: 'NoSchedule' }] });
  }
  await clock.advance(10);
  addPod('a');
  await clock.advance(1_000);
  const said = pod('a')?.status.conditions?.[0]?.message ?? '';
  assert.ok(said.length > EVENT_MESSAGE_BYTES_MAX);
  const [told = '', ...others] = events('FailedScheduling').map(({ message }) => message);
  assert.equal(others.length, 0);
  const bytes = Buffer.byteLength(told);
  assert.equal(bytes, EVENT_MESSAGE_BYTES_MAX - 1, 'no half character');
  assert.ok(told.endsWith('ä ...') && said.startsWith(told.slice(0, -4)), told);
  await stop();
});

test('a spread pod is retried when the emptiest domain is removed', async () => {
  const { clock, api, addNode, addPod, pod, stop } = await rig();
  addNode('n1', { labels: { zone: 'z1' } });
  addNode('n2', { labels: { zone: 'z2' }, unschedulable: true });
  await clock.advance(10);
  const constraint = {
    topologyKey: 'zone',
    maxSkew: 1,
    whenUnsatisfiable: 'DoNotSchedule',
    labelSelector: { matchLabels: { app: 'a' } },
  } as const;
  for (const name of ['a1', 'a2']) {
    addPod(name, { labels: { app: 'a' }, spec: { topologySpreadConstraints: [constraint] } });
    await clock.advance(100);
  }
  assert.deepEqual([nodeOf(pod('a1')), nodeOf(pod('a2'))], ['n1', undefined]);
  api.remove(pathFor(NODES, '', 'n2'));
  await clock.advance(20_000);
  assert.equal(nodeOf(pod('a2')), 'n1');
  await stop();
});

test('[LIFE-36] gated pods, pods of other schedulers and terminating pods are ignored', async () => {
  const { clock, api, addNode, addPod, pod, stop } = await rig();
  addNode('n1');
  addPod('gated', { spec: { schedulingGates: [{ name: 'g' }, { name: 'h' }] } });
  addPod('foreign', { spec: { schedulerName: 'another' } });
  await clock.advance(1_000);
  assert.equal(nodeOf(pod('gated')), undefined);
  assert.equal(nodeOf(pod('foreign')), undefined);
  api.put(podPath('gated'), buildPod('gated', { spec: { schedulingGates: [{ name: 'h' }] } }));
  await clock.advance(1_000);
  assert.equal(nodeOf(pod('gated')), undefined, 'one gate is left');
  api.put(podPath('gated'), buildPod('gated'));
  await clock.advance(1_000);
  assert.equal(nodeOf(pod('gated')), 'n1');
  await stop();
});

test('[PRIO-16] an unschedulable pod of high priority does not block the others', async () => {
  const { clock, addNode, addPod, pod, stop } = await rig();
  addPod('high', { cpu: '64', spec: { priority: 1000 } });
  addPod('low', { cpu: '1' });
  addNode('n1');
  await clock.advance(20_000);
  assert.equal(nodeOf(pod('low')), 'n1');
  assert.equal(nodeOf(pod('high')), undefined);
  await stop();
});

test('a binding without an answer is resolved by reading the pod, and its node stays reserved meanwhile', async () => {
  const { clock, api, schedulers, addNode, addPod, pod, stop } = await rig();
  addNode('n1', { cpu: '1' });
  let lost = 0;
  api.after = ({ path }) => {
    if (!path.endsWith('/binding') || lost++ > 0) return;
    throw new TransportError('the answer was lost');
  };
  addPod('a', { cpu: '1' });
  await clock.advance(100);
  addPod('b', { cpu: '1' });
  await clock.advance(30_000);
  assert.equal(nodeOf(pod('a')), 'n1');
  assert.equal(nodeOf(pod('b')), undefined);
  assert.equal(schedulers[0]?.counters().assumed, 0);
  await stop();
});

test('a binding that was lost is repeated after its back-off', async () => {
  const { clock, api, schedulers, addNode, addPod, pod, stop } = await rig();
  addNode('n1', { cpu: '1' });
  let lost = 0;
  api.before = ({ path }) => {
    if (path.endsWith('/binding') && lost++ < 2) throw new TransportError('the request was lost');
  };
  addPod('a', { cpu: '1' });
  await clock.advance(20_000);
  assert.equal(nodeOf(pod('a')), 'n1');
  assert.equal(lost, 3);
  assert.equal(schedulers[0]?.counters().assumed, 0);
  await stop();
});

test('a pod deleted during its binding leaves nothing behind', async () => {
  const { clock, api, schedulers, addNode, addPod, pod, stop } = await rig();
  addNode('n1', { cpu: '1' });
  api.before = ({ path }) => {
    if (path.endsWith('/a/binding')) api.remove(podPath('a'));
  };
  addPod('a', { cpu: '1' });
  await clock.advance(1_000);
  addPod('b', { cpu: '1' });
  await clock.advance(20_000);
  assert.equal(nodeOf(pod('b')), 'n1');
  assert.equal(schedulers[0]?.counters().assumed, 0);
  await stop();
});

/** Fails when the pods of a node request more than it has, or a pod changed its node. */
function watchPlacements(api: FakeApi, cpuOfNode: number): string[] {
  const wrong: string[] = [];
  api.onChange(({ object, previous }) => {
    if (object.kind !== 'Pod') return;
    const before = nodeOf(asPod(previous));
    const node = nodeOf(asPod(object));
    if (before !== undefined && before !== node) wrong.push(`${object.metadata.name} moved from ${before} to ${node}`);
    const placed = [...api.objects().values()].filter((each) => each.kind === 'Pod' && nodeOf(asPod(each)) === node);
    if (node !== undefined && placed.length > cpuOfNode) wrong.push(`${node} holds ${placed.length} pods`);
  });
  return wrong;
}

test('[SAFE-01] [TEST-04] several active schedulers never bind a pod twice, and all pods are bound in the end', async () => {
  await fc.assert(
    fc.asyncProperty(fc.integer(), async (seed) => {
      const { clock, api, addNode, addPod, pod, stop } = await rig(3);
      const random = createSeededRandom(seed, 'faults');
      const wrong = watchPlacements(api, 100);
      const fail = ({ path }: { path: string }): void => {
        if (path.endsWith('/binding') && random.float() < 0.2) throw new TransportError('lost');
      };
      Object.assign(api, { before: fail, after: fail });
      for (let i = 0; i < 4; i++) addNode(`n${i}`, { cpu: '100' });
      for (let i = 0; i < 30; i++) addPod(`p${i}`, { cpu: '1' });
      await clock.advance(120_000);
      assert.deepEqual(wrong, []);
      for (let i = 0; i < 30; i++) assert.notEqual(nodeOf(pod(`p${i}`)), undefined, `p${i}`);
      await stop();
    }),
    { numRuns: 8 },
  );
});

test('one scheduler never overcommits a node, whatever messages are lost', async () => {
  await fc.assert(
    fc.asyncProperty(fc.integer(), async (seed) => {
      const { clock, api, addNode, addPod, pod, stop } = await rig(1);
      const random = createSeededRandom(seed, 'faults');
      const wrong = watchPlacements(api, 4);
      const fail = (): void => {
        if (random.float() < 0.15) throw new TransportError('lost');
      };
      Object.assign(api, { before: fail, after: fail });
      for (let i = 0; i < 3; i++) addNode(`n${i}`, { cpu: '4' });
      for (let i = 0; i < 16; i++) {
        addPod(`p${i}`, { cpu: '1' });
        if (random.float() < 0.3) await clock.advance(random.int(500));
      }
      await clock.advance(400_000);
      assert.deepEqual(wrong, []);
      const placed = Array.from({ length: 16 }, (_, i) => nodeOf(pod(`p${i}`))).filter((node) => node !== undefined);
      assert.equal(placed.length, 12);
      await stop();
    }),
    { numRuns: 15 },
  );
});

test('with leader election one scheduler works and the other takes over', async () => {
  const { clock, schedulers, addNode, addPod, pod, stop } = await rig(2, { leaderElection: true });
  addNode('n1');
  await clock.advance(5_000);
  addPod('a');
  await clock.advance(1_000);
  assert.equal(nodeOf(pod('a')), 'n1');
  const bound = schedulers.map((each) => each.counters().bound);
  assert.deepEqual(
    bound.toSorted((a, b) => a - b),
    [0, 1],
  );
  const stopped = schedulers[bound.indexOf(1)]?.stop();
  await clock.advance(5_000);
  await stopped;
  addPod('b');
  await clock.advance(10_000);
  assert.equal(nodeOf(pod('b')), 'n1');
  await stop();
});

test('the scheduler holds the lease of the configuration', async () => {
  const file = {
    apiVersion: 'kubescheduler.config.k8s.io/v1',
    kind: 'KubeSchedulerConfiguration',
    leaderElection: { leaseDuration: '40s', resourceName: 'mine', resourceNamespace: 'tools' },
  };
  const { clock, api, stop } = await rig(1, { leaderElection: true, configuration: decodeConfiguration(file) });
  await clock.advance(5_000);
  const leases = [...api.objects().values()].filter(({ kind }) => kind === 'Lease') as Lease[];
  assert.deepEqual(
    leases.map(({ metadata, spec }) => [metadata.namespace, metadata.name, spec.leaseDurationSeconds]),
    [['tools', 'mine', 40]],
  );
  await stop();
});

test('[SAFE-15] [PREEMPT-06] [PREEMPT-08] [PREEMPT-09] [PREEMPT-11] [DISR-04] [EXS-23] a pod of high priority preempts victims, nominates its node and is bound to it', async () => {
  const { clock, api, schedulers, addNode, addPod, pod, events, stop } = await rig();
  addNode('n1', { cpu: '1' });
  addPod('low', { cpu: '1', spec: { priority: 1 } });
  await clock.advance(1_000);
  assert.equal(nodeOf(pod('low')), 'n1');
  const seen: (string | undefined)[] = [];
  api.onChange(({ object, path, type }) => {
    if (path === podPath('high') && type === 'MODIFIED') seen.push(asPod(object)?.status.nominatedNodeName);
  });
  addPod('high', { cpu: '1', spec: { priority: 10 } });
  await clock.advance(20_000);
  const deletes = api.requests.filter(({ method }) => method === 'DELETE');
  assert.deepEqual(
    deletes.map(({ path, body }) => [
      path,
      JSON.parse(String(body)).preconditions,
      JSON.parse(String(body)).gracePeriodSeconds,
    ]),
    [[podPath('low'), { uid: 'uid-default-low' }, undefined]],
  );
  assert.deepEqual(
    events('Preempted').map(({ type, message, action, related, involvedObject }) => [
      type,
      involvedObject.name,
      message,
      action,
      related?.name,
    ]),
    [['Normal', 'low', 'Preempted by pod uid-default-high on node n1', 'Preempting', 'high']],
  );
  assert.ok(seen.includes('n1'), 'the nomination was visible');
  assert.equal(nodeOf(pod('high')), 'n1');
  assert.equal(schedulers[0]?.counters().preemptions, 1);
  await stop();
});

test('[PREEMPT-14] [EXS-23] a more important pod takes the freed room, and the nomination is cleared', async () => {
  const { clock, api, addNode, addPod, pod, stop } = await rig();
  addNode('n1', { cpu: '2' });
  addPod('low', { cpu: '2', spec: { priority: 0 } });
  await clock.advance(1_000);
  slowDeletions({ api, pod });
  addPod('p', { cpu: '2', spec: { priority: 100 } });
  await clock.advance(2_000);
  assert.equal(pod('p')?.status.nominatedNodeName, 'n1');
  addPod('h', { cpu: '2', spec: { priority: 200 } });
  await clock.advance(100);
  const nominations = ['h', 'p'].map((name) => pod(name)?.status.nominatedNodeName ?? null);
  assert.deepEqual(nominations, ['n1', null], 'at once, while the victim still ends');
  await clock.advance(8_000);
  assert.deepEqual([pod('h')?.status.nominatedNodeName, pod('p')?.status.nominatedNodeName ?? null], ['n1', null]);
  api.remove(podPath('low'));
  await clock.advance(20_000);
  assert.equal(nodeOf(pod('h')), 'n1');
  assert.equal(nodeOf(pod('p')), undefined);
  assert.equal(pod('p')?.status.nominatedNodeName ?? null, null);
  await stop();
});

test('[PREEMPT-14] a pod with a cleared nomination preempts elsewhere', async () => {
  await using preempting = await onTwoNodes([['victim', '4']]);
  const { clock, addPod, pod, end, isEnding } = preempting;
  addPod('higher', { cpu: '4', spec: { priority: 20 } });
  await clock.advance(1_000);
  await end('victim');
  assert.equal(nodeOf(pod('higher')), 'n1');
  assert.ok(isEnding('other'), 'it does not wait for an event that nobody sends');
});

test('[PREEMPT-14] a pod whose room went to a more important one while its victims terminated preempts elsewhere', async () => {
  await using preempting = await onTwoNodes([
    ['first', '2'],
    ['second', '2'],
  ]);
  const { clock, addPod, pod, end, isEnding } = preempting;
  await end('first');
  addPod('higher', { cpu: '2', spec: { priority: 20 } });
  await clock.advance(1_000);
  assert.equal(nodeOf(pod('higher')), 'n1');
  assert.equal(isEnding('other'), false);
  await end('second');
  assert.ok(isEnding('other'), 'it does not wait for an event that nobody sends');
});

test('[PREEMPT-12] room nominated for a deleted pod is given to waiting pods', async () => {
  await using preempting = await onTwoNodes([['victim', '4']]);
  const { clock, api, addPod, pod } = preempting;
  addPod('patient', { cpu: '4' });
  await clock.advance(1);
  // Nothing has used the room yet.
  api.remove(podPath('victim'));
  await clock.advance(1);
  assert.deepEqual([nodeOf(pod('p')), nodeOf(pod('patient'))], [undefined, undefined]);
  api.remove(podPath('p'));
  await clock.advance(20_000);
  assert.equal(nodeOf(pod('patient')), 'n1');
});

/**
 * A pod that needs a whole node is nominated for the first node, whose pods are terminating. The second node has a pod
 * that it may also preempt.
 */
async function onTwoNodes(victims: readonly (readonly [name: string, cpu: string])[]) {
  const running = await rig();
  const { clock, api, addNode, addPod, pod } = running;
  addNode('n1');
  addNode('n2');
  for (const [name, cpu] of victims) addPod(name, { cpu, nodeName: 'n1' });
  addPod('other', { cpu: '4', nodeName: 'n2', spec: { priority: 5 } });
  slowDeletions(running);
  await clock.advance(1_000);
  addPod('p', { cpu: '4', spec: { priority: 10 } });
  await clock.advance(100);
  assert.equal(pod('p')?.status.nominatedNodeName, 'n1');
  return {
    ...running,
    end: async (name: string) => {
      api.remove(podPath(name));
      await clock.advance(20_000);
    },
    isEnding: (name: string) => pod(name)?.metadata.deletionTimestamp !== undefined,
    [Symbol.asyncDispose]: () => running.stop(),
  };
}

test('[EXS-23] [PREEMPT-11] a node added meanwhile gets the pod, whatever its nomination', async () => {
  const { clock, addNode, pod, stop } = await nominatedRig();
  addNode('m', { cpu: '2' });
  await clock.advance(12_000);
  assert.deepEqual([nodeOf(pod('p')), pod('p')?.status.nominatedNodeName], ['m', 'n1']);
  await stop();
});

test('[PREEMPT-12] [PREEMPT-15] while victims terminate other pods are scheduled, and afterwards the pod is bound', async () => {
  const { clock, api, schedulers, addNode, addPod, pod, stop } = await rig();
  addNode('n1', { cpu: '2' });
  addNode('n2', { cpu: '1' });
  addPod('low', { cpu: '2' });
  await clock.advance(1_000);
  assert.equal(nodeOf(pod('low')), 'n1');
  slowDeletions({ api, pod });
  addPod('p', { cpu: '2', spec: { priority: 100 } });
  await clock.advance(2_000);
  assert.equal(pod('p')?.status.nominatedNodeName, 'n1');
  addPod('small', { cpu: '1' });
  await clock.advance(2_000);
  assert.equal(nodeOf(pod('small')), 'n2');
  await clock.advance(26_000);
  assert.equal(nodeOf(pod('p')), undefined);
  assert.equal(schedulers[0]?.counters().preemptions, 1, 'it takes no more while its victim ends');
  api.remove(podPath('low'));
  await clock.advance(10_000);
  assert.equal(nodeOf(pod('p')), 'n1');
  await stop();
});

test('[PREEMPT-24] a victim that never terminates is never treated as gone', async () => {
  const { clock, api, addNode, addPod, pod, stop } = await rig();
  addNode('n1', { cpu: '1' });
  addPod('low', { cpu: '1' });
  await clock.advance(1_000);
  slowDeletions({ api, pod });
  addPod('p', { cpu: '1', spec: { priority: 100 } });
  await clock.advance(20 * 60_000);
  assert.deepEqual([nodeOf(pod('p')), pod('p')?.status.nominatedNodeName], [undefined, 'n1']);
  assert.match(
    pod('p')?.status.conditions?.find(({ type }) => type === 'PodScheduled')?.message ?? '',
    /preemption: not eligible due to a terminating pod on the nominated node\.$/,
  );
  addNode('n2', { cpu: '1' });
  await clock.advance(15_000);
  assert.equal(nodeOf(pod('p')), 'n2', 'another node takes it');
  await stop();
});

test('[PRIO-18] [EXS-21] a pod that never preempts waits for room, and then precedes earlier pods of lower priority', async () => {
  const { clock, api, addNode, addPod, pod, stop } = await rig();
  addNode('n1', { cpu: '1' });
  addPod('running', { cpu: '1' });
  await clock.advance(1_000);
  addPod('older', { cpu: '1', spec: { priority: 0 } });
  addPod('patient', { cpu: '1', spec: { priority: 1_000_000, preemptionPolicy: 'Never' } });
  await clock.advance(60_000);
  assert.equal(api.requests.filter(({ method }) => method === 'DELETE').length, 0);
  assert.equal(pod('patient')?.status.nominatedNodeName, undefined);
  assert.equal(nodeOf(pod('patient')), undefined);
  api.remove(podPath('running'));
  await clock.advance(1_000);
  assert.deepEqual([nodeOf(pod('patient')), nodeOf(pod('older'))], ['n1', undefined]);
  addPod('vip', { cpu: '1', spec: { priority: 2_000_000 } });
  await clock.advance(20_000);
  assert.equal(nodeOf(pod('vip')), 'n1', 'it can itself be preempted');
  await stop();
});

test('[PRIO-14] without PodPriority pods are scheduled in order of arrival and none preempts', async () => {
  const { clock, api, addNode, addPod, pod, stop } = await rig(1, { podPriority: false });
  addPod('first', { cpu: '1', spec: { priority: 0 } });
  addPod('second', { cpu: '1', spec: { priority: 1_000_000 } });
  await clock.advance(100);
  addNode('n1', { cpu: '1' });
  await clock.advance(60_000);
  assert.deepEqual([nodeOf(pod('first')), nodeOf(pod('second'))], ['n1', undefined]);
  assert.equal(api.requests.filter(({ method }) => method === 'DELETE').length, 0);
  assert.equal(pod('second')?.spec.priority, 1_000_000, 'what the pod says stays');
  await stop();
});

test('[PRIO-14] priorities order pods and cause preemption unless they are switched off', async () => {
  const { clock, addNode, addPod, pod, stop } = await rig();
  addPod('first', { cpu: '1', spec: { priority: 0 } });
  addPod('second', { cpu: '1', spec: { priority: 10 } });
  await clock.advance(100);
  addNode('n1', { cpu: '1' });
  await clock.advance(20_000);
  assert.deepEqual([nodeOf(pod('first')), nodeOf(pod('second'))], [undefined, 'n1']);
  addPod('third', { cpu: '1', spec: { priority: 20 } });
  await clock.advance(20_000);
  assert.equal(nodeOf(pod('third')), 'n1');
  await stop();
});

test('[PREEMPT-09] a useless nomination is cleared and forgotten', async () => {
  const { clock, api, addNode, addPod, pod, stop } = await rig();
  addNode('n1', { cpu: '2' });
  const waits = buildPod('waits', { cpu: '8', spec: { priority: 10 } });
  const nominated: Pod = { ...waits, status: { phase: 'Pending', nominatedNodeName: 'n1' } };
  api.put(podPath('waits'), nominated);
  addPod('low', { cpu: '2' });
  await clock.advance(3_000);
  assert.equal(nodeOf(pod('low')), 'n1');
  assert.equal(pod('waits')?.status.nominatedNodeName ?? null, null);
  await stop();
});

test('[PREEMPT-08] [DISR-27] [DISR-28] the conditions of a victim contain the reason before its deletion is requested', async () => {
  const { clock, api, addNode, addPod, pod, stop } = await rig();
  addNode('n1', { cpu: '1' });
  addPod('low', { cpu: '1' });
  await clock.advance(1_000);
  slowDeletions({ api, pod });
  addPod('p', { cpu: '1', spec: { priority: 100 } });
  await clock.advance(2_000);
  const condition = pod('low')?.status.conditions?.find(({ type }) => type === 'DisruptionTarget');
  assert.deepEqual(
    [condition?.status, condition?.reason, condition?.message],
    ['True', 'PreemptionByScheduler', 'default-scheduler: preempting to accommodate a higher priority pod'],
  );
  const writes = api.requests.filter(
    ({ path, method }) => path.includes('/low') && ['PATCH', 'DELETE'].includes(method),
  );
  assert.deepEqual(
    writes.slice(0, 2).map(({ method }) => method),
    ['PATCH', 'DELETE'],
  );
  await stop();
});

test('metrics have the upstream names, and the cache matches the API', async () => {
  const { clock, schedulers, addNode, addPod, stop } = await rig();
  addNode('n1', { cpu: '1' });
  addPod('a', { cpu: '1' });
  await clock.advance(1_000);
  addPod('b', { cpu: '1' });
  addPod('gated', { spec: { schedulingGates: [{ name: 'g' }] } });
  await clock.advance(1_000);
  const [scheduler] = schedulers;
  const metrics = scheduler?.metrics() ?? '';
  for (const line of [
    'scheduler_pending_pods{queue="unschedulable"} 1',
    'scheduler_pending_pods{queue="gated"} 1',
    'scheduler_schedule_attempts_total{profile="default-scheduler",result="scheduled"} 1',
    'scheduler_schedule_attempts_total{profile="default-scheduler",result="unschedulable"} 1',
    'scheduler_pod_scheduling_sli_duration_seconds_count{attempts="1"} 1',
    'scheduler_framework_extension_point_duration_seconds_count{extension_point="Filter",profile="default-scheduler",status="Success"} 2',
    'scheduler_unschedulable_pods{plugin="NodeResourcesFit",profile="default-scheduler"} 1',
    'scheduler_queue_incoming_pods_total{event="UnschedulablePodAdd",queue="active"} 2',
    'scheduler_cache_size{type="pods"} 1',
    'scheduler_preemption_attempts_total 1',
  ]) {
    assert.ok(metrics.split('\n').includes(line), line);
  }
  const none = { missing: [], redundant: [] };
  assert.deepEqual(await scheduler?.compareCache(), { nodes: none, pods: { ...none, onOtherNode: [] }, assumed: [] });
  await stop();
});
