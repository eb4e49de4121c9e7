import assert from 'node:assert/strict';
import { test } from 'node:test';
import { LEASES, type Lease } from '@holdfast/api';
import { createSeededRandom, createSilentLog, OperatorError } from '@holdfast/platform';
import { createVirtualClock, type VirtualClock } from '@holdfast/platform/testing';
import { createApiClient } from './api-client.ts';
import { createLeaderElector } from './leader-elector.ts';
import { FakeApi, pathFor } from './testing/fake-api.ts';
import { createDirectTransport } from './transport/direct.ts';
import { type ApiHandler, TransportError } from './transport/port.ts';

function candidate(api: FakeApi, clock: VirtualClock, identity: string) {
  const link = { cut: false };
  const handler: ApiHandler = (request) =>
    link.cut ? Promise.reject(new TransportError('cut')) : api.handler(request);
  const history: string[] = [];
  const elector = createLeaderElector({
    client: createApiClient({ transport: createDirectTransport(handler), userAgent: identity }),
    lease: { namespace: 'kube-system', name: 'test' },
    identity,
    clock,
    random: createSeededRandom(1, identity),
    log: createSilentLog(),
    onStartedLeading: (signal) => {
      history.push('leads');
      signal.addEventListener('abort', () => history.push('aborted'));
    },
    onStoppedLeading: () => history.push('stopped'),
    onNewLeader: (leader) => history.push(`sees ${leader}`),
  });
  return { elector, link, history };
}

function rig() {
  const clock = createVirtualClock();
  const api = new FakeApi(clock);
  return { clock, api, a: candidate(api, clock, 'a'), b: candidate(api, clock, 'b') };
}

const leaseIn = (api: FakeApi): Lease | undefined =>
  api.objects().get(pathFor(LEASES, 'kube-system', 'test')) as Lease | undefined;

test('one candidate leads, the other takes over as soon as the lease is released', async () => {
  const { clock, api, a, b } = rig();
  await a.elector.start();
  await clock.advance(100);
  await b.elector.start();
  await clock.advance(60_000);
  assert.deepEqual(a.history, ['sees a', 'leads']);
  assert.deepEqual(b.history, ['sees a']);
  assert.equal(leaseIn(api)?.spec.leaseTransitions, 0);
  const stopped = a.elector.stop();
  await clock.advance(3_000);
  await stopped;
  assert.deepEqual(a.history, ['sees a', 'leads', 'aborted', 'stopped']);
  assert.equal(b.elector.isLeader(), true);
  assert.equal(leaseIn(api)?.spec.leaseTransitions, 1);
  await b.elector.stop();
});

test('a leader without an API stops before another one can start', async () => {
  const { clock, a, b } = rig();
  await a.elector.start();
  await clock.advance(100);
  await b.elector.start();
  await clock.advance(20_000);
  assert.deepEqual([a.elector.problems(), b.elector.problems()], [[], []]);
  a.link.cut = true;
  for (let step = 0; step < 300; step++) {
    await clock.advance(100);
    assert.ok(!(a.elector.isLeader() && b.elector.isLeader()), `both lead after ${step * 100} ms`);
  }
  assert.equal(a.elector.isLeader(), false);
  assert.equal(b.elector.isLeader(), true);
  assert.match(a.elector.problems().join(), /the lease test was not seen renewed for \d+ s/);
  assert.deepEqual(b.elector.problems(), []);
  a.link.cut = false;
  await clock.advance(20_000);
  assert.equal(a.elector.leader(), 'b');
  assert.deepEqual(a.elector.problems(), []);
  assert.equal(a.elector.isLeader(), false);
  await Promise.all([a.elector.stop(), b.elector.stop()]);
});

test('inconsistent durations are refused', () => {
  const clock = createVirtualClock();
  const { api } = rig();
  assert.throws(
    () =>
      createLeaderElector({
        client: createApiClient({ transport: createDirectTransport(api.handler), userAgent: 'x' }),
        lease: { namespace: 'a', name: 'b' },
        identity: 'x',
        clock,
        random: createSeededRandom(1, 'x'),
        log: createSilentLog(),
        renewDeadlineMs: 15_000,
        onStartedLeading: () => {},
        onStoppedLeading: () => {},
      }),
    OperatorError,
  );
});
