import assert from 'node:assert/strict';
import { test } from 'node:test';
import { ENDPOINT_SLICES, EVENTS, type Event, NODES, SERVICES } from '@holdfast/api';
import { createApiClient, createDirectTransport } from '@holdfast/client';
import { FakeApi, pathFor } from '@holdfast/client/testing';
import { createIds, createSeededRandom, createSilentLog, type LogFields } from '@holdfast/platform';
import { createVirtualClock } from '@holdfast/platform/testing';
import { createProxy } from './app.ts';
import { MemoryFilter } from './filter/memory-filter.ts';
import { type FlowTable, NO_FLOW_TABLE } from './filter/port.ts';
import { isFollowing } from './health/proxy-health.ts';
import { HEALTH_TIMEOUT_MS, RETRY_BASE_MS, RETRY_MAX_MS } from './limits.ts';
import { DEFAULT_PROXY_OPTIONS } from './proxy-deps.ts';
import { node, service, slice } from './testing/builders.ts';

function rig(flows: FlowTable = NO_FLOW_TABLE) {
  const clock = createVirtualClock();
  const api = new FakeApi(clock);
  const random = createSeededRandom(1, 'proxy');
  const filter = new MemoryFilter();
  const warnings: string[] = [];
  const warn = (message: string, _fields?: LogFields): void => void warnings.push(message);
  const proxy = createProxy({
    client: createApiClient({ transport: createDirectTransport(api.handler), userAgent: 'test' }),
    clock,
    random,
    ids: createIds(random),
    log: { ...createSilentLog(), warn },
    nodeName: 'a',
    filter,
    flows,
    options: DEFAULT_PROXY_OPTIONS,
  });
  api.put(pathFor(NODES, '', 'a'), node('a'));
  api.put(pathFor(SERVICES, 'default', 'web'), service());
  const events = (): readonly Event[] =>
    [...api.objects()].flatMap(([path, object]) => (path.includes(`/${EVENTS.plural}/`) ? [object as Event] : []));
  return { clock, api, filter, proxy, warnings, events };
}

test('a first write that fails is repeated with a back-off, and its reason is stated once', async () => {
  const { clock, filter, proxy, warnings, events } = rig();
  filter.failures.push(...Array.from({ length: 3 }, () => new Error('nft ended with code 1: no room')));
  const started = proxy.start();
  await clock.advance(RETRY_BASE_MS / 2);
  await started;
  assert.deepEqual([proxy.isReady(), filter.resets], [false, 0]);
  assert.match(proxy.failure() ?? '', /no room/);
  assert.equal(isFollowing(proxy.health().progress, clock.monotonic()), true, 'the first rules are not late yet');
  assert.equal(isFollowing(proxy.health().progress, clock.monotonic() + HEALTH_TIMEOUT_MS), false);
  await clock.advance(RETRY_BASE_MS * 3 - 10);
  assert.equal(filter.failures.length, 0);
  assert.equal(filter.resets, 0, 'each pause is twice as long as the one before');
  await clock.advance(RETRY_MAX_MS);
  assert.deepEqual([proxy.isReady(), filter.resets, proxy.failure()], [true, 1, undefined]);
  assert.equal(warnings.length, 1);
  const [event, ...more] = events();
  assert.deepEqual([event?.involvedObject.name, event?.type, more.length], ['a', 'Warning', 0]);
  assert.match(event?.message ?? '', /no room/);
  await proxy.stop();
});

test('a new network gets every rule, also when it comes while the rules are written', async () => {
  const { clock, filter, proxy } = rig();
  const started = proxy.start();
  await clock.advance(100);
  await started;
  const { promise, resolve } = Promise.withResolvers<void>();
  const reset = filter.reset.bind(filter);
  filter.reset = (tables) => promise.then(() => reset(tables));
  proxy.rewrite();
  await clock.advance(100);
  proxy.rewrite();
  resolve();
  await clock.advance(100);
  assert.equal(filter.resets, 3);
  assert.ok(filter.tables.has('ip'));
  await proxy.stop();
});

test('rules are written while stale flows are removed', async () => {
  const removing = Promise.withResolvers<void>();
  const { clock, api, filter, proxy } = rig({ forget: () => removing.promise });
  const started = proxy.start();
  await clock.advance(100);
  await started;
  api.put(pathFor(SERVICES, 'default', 'dns'), service({ name: 'dns', ports: [{ port: 53, protocol: 'UDP' }] }));
  const endpoints = slice([{ address: '10.244.0.2' }], { of: 'dns', port: 53, protocol: 'UDP' });
  const path = pathFor(ENDPOINT_SLICES, 'default', 'dns-1');
  api.put(path, { ...endpoints, metadata: { ...endpoints.metadata, name: 'dns-1' } });
  await clock.advance(100);
  api.remove(path);
  await clock.advance(100);
  const before = filter.scripts.length;
  api.put(pathFor(SERVICES, 'default', 'late'), service({ name: 'late', clusterIP: '10.96.0.7' }));
  await clock.advance(100);
  assert.equal(filter.scripts.length, before + 1);
  removing.resolve();
  await proxy.stop();
});
