import assert from 'node:assert/strict';
import { test } from 'node:test';
import { type ApiRequest, type ApiTransport, NOTHING_SEEN, SEEN_HEADER } from '@holdfast/client';
import { createMemoryStore } from '@holdfast/store/memory';
import { FirstLists, withFirstLists } from './first-lists.ts';

const list = (path: string, seen = NOTHING_SEEN): ApiRequest => ({
  method: 'GET',
  path,
  query: new URLSearchParams(),
  headers: { [SEEN_HEADER]: seen },
});

/** Counts what reaches the API server; each answer is another value. */
function counted(): ApiTransport & { asked: number } {
  const transport = {
    asked: 0,
    request: async () => {
      const value = { number: ++transport.asked };
      return {
        status: 200,
        headers: {},
        body: { kind: 'json' as const, value: () => value, bytes: () => Buffer.of() },
      };
    },
    close: async () => {},
  };
  return transport;
}

function setUp() {
  const store = createMemoryStore();
  const transport = counted();
  const lists = new FirstLists();
  const over = (user: string): ApiTransport => withFirstLists({ lists, revision: 0, store, transport, user });
  const answer = async (user: string, request: ApiRequest): Promise<unknown> => {
    const { body } = await over(user).request(request);
    return body.kind === 'json' ? body.value() : undefined;
  };
  return { store, transport, answer };
}

test('the first list of a user is asked for once, for each path and each user', async () => {
  const { transport, answer } = setUp();
  const first = await answer('scheduler', list('/api/v1/pods'));
  assert.equal(await answer('scheduler', list('/api/v1/pods')), first);
  assert.equal(transport.asked, 1);
  assert.notEqual(await answer('scheduler', list('/api/v1/nodes')), first);
  assert.notEqual(await answer('controllers', list('/api/v1/pods')), first);
  assert.equal(transport.asked, 3);
});

test('a cluster that was written to asks its own API server', async () => {
  const { store, transport, answer } = setUp();
  await answer('scheduler', list('/api/v1/pods'));
  await store.write([{ kind: 'create', key: 'core/pods/default/web', value: '{}' }]);
  await answer('scheduler', list('/api/v1/pods'));
  assert.equal(transport.asked, 2);
});

test('other requests are not remembered: of a client that has seen something, of one object, of a custom kind', async () => {
  const { transport, answer } = setUp();
  const plain: ApiRequest = { ...list('/api/v1/pods'), headers: {} };
  const watch: ApiRequest = { ...list('/api/v1/pods'), query: new URLSearchParams({ watch: 'true' }) };
  const others = [
    plain,
    watch,
    list('/api/v1/pods', 'a.1'),
    list('/api/v1/namespaces/default/pods/web'),
    list('/apis/example.com/v1/tanks'),
  ];
  for (const each of [...others, ...others]) await answer('scheduler', each);
  assert.equal(transport.asked, 2 * others.length);
});
