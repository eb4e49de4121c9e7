import assert from 'node:assert/strict';
import { test } from 'node:test';
import { CONFIG_MAPS, type KubeObject, NODES, PODS, type ResourceRef } from '@holdfast/api';
import {
  type ApiTransport,
  createApiClient,
  createInformer,
  HAD_SEEN_HEADER,
  NOTHING_SEEN,
  SEEN_HEADER,
} from '@holdfast/client';
import { createSilentLog } from '@holdfast/platform';
import { createVirtualClock } from '@holdfast/platform/testing';
import { createMemoryStore } from '@holdfast/store/memory';
import { FirstLists, withFirstLists } from './first-lists.ts';

/** Counts what reaches the API server; each list has another version. Keeps the last headers of a write. */
function counted() {
  const transport = {
    asked: 0,
    written: {} as Readonly<Record<string, string>>,
    request: async ({ method, headers }: Parameters<ApiTransport['request']>[0]) => {
      transport.asked += 1;
      if (method !== 'GET') transport.written = headers;
      const metadata = { resourceVersion: `${transport.asked}` };
      const value = method === 'GET' ? { metadata, items: [] } : { metadata };
      const body = { kind: 'json' as const, value: () => value, bytes: () => Buffer.of() };
      return { status: 200, headers: { [SEEN_HEADER]: 'own' }, body };
    },
    close: async () => {},
  };
  return transport;
}

function setUp() {
  const store = createMemoryStore();
  const transport = counted();
  const lists = new FirstLists();
  const clientOf = (user: string) =>
    withFirstLists({ lists, revision: 0, store, client: createApiClient({ transport, userAgent: user }), user });
  const first = (user: string, resource: ResourceRef, more: { readonly fieldSelector?: string } = {}) =>
    clientOf(user).list(resource, { seen: NOTHING_SEEN, limit: 500, ...more });
  return { store, transport, clientOf, first };
}

test('the first list of a user is asked for once, for each resource, selection and user', async () => {
  const { first } = setUp();
  const { resourceVersion, seen } = await first('scheduler', PODS);
  assert.deepEqual([resourceVersion, seen], ['1', 'own']);
  const again = await first('scheduler', PODS);
  assert.deepEqual([again.resourceVersion, again.seen], ['1', undefined], 'each cluster has a history of its own');
  const others = [
    await first('scheduler', NODES),
    await first('controllers', PODS),
    await first('scheduler', PODS, { fieldSelector: 'spec.nodeName=' }),
  ];
  assert.deepEqual(
    others.map((each) => each.resourceVersion),
    ['2', '3', '4'],
  );
});

test('a cluster that was written to asks its own API server', async () => {
  const { store, transport, first } = setUp();
  await first('scheduler', PODS);
  await store.write([{ kind: 'create', key: 'core/pods/default/web', value: '{}' }]);
  await first('scheduler', PODS);
  assert.equal(transport.asked, 2);
});

test('other requests are not remembered: of a client that has seen something, of a page, of a namespace, of a custom kind', async () => {
  const { transport, clientOf, first } = setUp();
  const client = clientOf('scheduler');
  const tanks: ResourceRef<KubeObject> = { ...PODS, group: 'example.com', kind: 'Tank', plural: 'tanks' };
  const seen = NOTHING_SEEN;
  const others = [
    () => client.list(PODS),
    () => client.list(PODS, { seen: 'a.1' }),
    () => client.list(PODS, { seen, continueToken: 'next' }),
    () => client.list(PODS, { seen, resourceVersion: '1' }),
    () => client.list(PODS, { seen, namespace: 'default' }),
    () => client.get(PODS, { namespace: 'default', name: 'web' }),
    () => first('scheduler', tanks),
  ];
  for (const each of [...others, ...others]) await each().catch(() => {});
  assert.equal(transport.asked, 2 * others.length);
});

test('what an informer has seen through it is in the header of its writes', async () => {
  const { transport, clientOf } = setUp();
  const client = clientOf('controllers');
  const informer = createInformer({
    client,
    resource: CONFIG_MAPS,
    clock: createVirtualClock(),
    log: createSilentLog(),
  });
  await informer.start();
  await informer.synced();
  await client.delete(CONFIG_MAPS, { namespace: 'default', name: 'one' });
  await informer.stop();
  assert.equal(transport.written[HAD_SEEN_HEADER], '1 1');
});
