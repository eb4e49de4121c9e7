import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createApiClient, createDirectTransport } from '@holdfast/client';
import { createSeededRandom, createSilentLog } from '@holdfast/platform';
import { createVirtualClock, type VirtualClock } from '@holdfast/platform/testing';
import { ClusterCache } from '../domain/cluster-cache.ts';
import { createPodInfo } from '../domain/pod-info.ts';
import type { Profile } from '../framework/profile.ts';
import { buildPod } from '../testing/builders.ts';
import { profileFor } from '../testing/cluster.ts';
import { Bindings, type PermitWait } from './binding.ts';

interface Bench {
  readonly clock: VirtualClock;
  readonly steps: string[];
  readonly measured: string[];
  readonly start: (profile: Partial<Profile>, waits?: readonly PermitWait[]) => void;
  readonly stop: () => Promise<void>;
}

function bench(): Bench {
  const clock = createVirtualClock();
  const steps: string[] = [];
  const measured: string[] = [];
  const client = createApiClient({
    transport: createDirectTransport(() => Promise.reject(new Error('down'))),
    userAgent: 't',
  });
  const bindings = new Bindings(
    {
      client,
      clock,
      recorders: { of: () => ({ event: (_, { reason }) => steps.push(`event ${reason}`) }) },
      metrics: {
        permitWait: (result, seconds) => measured.push(`${result} after ${seconds} s`),
        step: (_, point, status) => measured.push(`${point} ${status}`),
      },
      extenders: [],
      random: createSeededRandom(1, 'b'),
      log: createSilentLog(),
    },
    {
      onBound: () => steps.push('bound'),
      onGivenUp: (_, { message, plugin }) => steps.push(`given up by ${plugin ?? 'failure'}: ${message}`),
      onObserved: () => steps.push('observed'),
    },
  );
  const none = { preBinds: [], binds: [], postBinds: [] };
  return {
    clock,
    steps,
    measured,
    start: (profile, waits = []) =>
      bindings.start({
        pod: createPodInfo(buildPod('p')),
        nodeName: 'n',
        profile: { ...profileFor(new ClusterCache()), ...none, ...profile },
        waits,
        attempts: 1,
        addedMs: 0,
        startedMs: 0,
      }),
    stop: () => bindings.stop(),
  };
}

test('PreBind, Bind and PostBind run in this order; a plugin may leave the binding to the next one', async () => {
  const { clock, steps, measured, start, stop } = bench();
  const noting = (name: string, answer: 'bound' | 'skip') => ({
    name,
    call: async () => {
      steps.push(name);
      return answer;
    },
  });
  start({
    preBinds: [{ name: 'prepare', call: async () => void steps.push('prepare') }],
    binds: [noting('passes', 'skip'), noting('binds', 'bound'), noting('unused', 'bound')],
    postBinds: [{ name: 'after', call: () => void steps.push('after') }],
  });
  await clock.advance(10);
  assert.deepEqual(steps, ['prepare', 'passes', 'binds', 'bound', 'event Scheduled', 'after']);
  assert.deepEqual(measured, ['PreBind Success', 'Bind Success']);
  await stop();
});

test('Permit may delay a pod until it is allowed, until it is refused, or until the timeout', async () => {
  const { clock, steps, measured, start, stop } = bench();
  const binds = [{ name: 'binds', call: async () => 'bound' as const }];
  const wait = (answer: Promise<string | undefined>): PermitWait => ({
    kind: 'wait',
    plugin: 'Quota',
    timeoutMs: 5_000,
    answer,
  });
  const gate = Promise.withResolvers<string | undefined>();
  start({ binds }, [wait(gate.promise)]);
  await clock.advance(4_000);
  assert.deepEqual(steps, []);
  gate.resolve(undefined);
  await clock.advance(10);
  assert.deepEqual(steps.splice(0), ['bound', 'event Scheduled']);
  start({ binds }, [wait(Promise.resolve('no more'))]);
  await clock.advance(10);
  assert.deepEqual(steps.splice(0), ['given up by Quota: no more']);
  start({ binds }, [wait(new Promise(() => {}))]);
  await clock.advance(5_000);
  assert.deepEqual(steps.splice(0), [
    'given up by Quota: rejected due to timeout after waiting 5000 ms at plugin Quota',
  ]);
  assert.deepEqual(
    measured.filter((each) => each.includes('after')),
    ['Success after 4 s', 'Unschedulable after 0 s', 'Unschedulable after 5 s'],
  );
  start({ binds }, [wait(new Promise(() => {}))]);
  await stop();
  assert.deepEqual(steps, [], 'a stop waits for nobody and blames nobody');
});

test('a failure before the binding releases the assumed node without an API request', async () => {
  const { clock, steps, measured, start, stop } = bench();
  start({ preBinds: [{ name: 'broken', call: () => Promise.reject(new Error('no disk')) }] });
  await clock.advance(10);
  assert.deepEqual(steps, ['given up by failure: no disk']);
  assert.deepEqual(measured, ['PreBind Error']);
  await stop();
});
