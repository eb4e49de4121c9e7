import { strict as assert } from 'node:assert';
import { type TestContext, test } from 'node:test';
import { CONFIG_MAPS, type ConfigMap } from '@holdfast/api';
import { createLocalBus } from '@holdfast/bus/local';
import {
  type ApiHandler,
  createApiClient,
  createDirectTransport,
  createInformer,
  type Informer,
  SEEN_HEADER,
} from '@holdfast/client';
import { createIds, createSeededRandom, createSilentLog, createSystemClock } from '@holdfast/platform';
import { eventually } from '@holdfast/platform/contract';
import type { Store } from '@holdfast/store';
import { copyUpTo } from '@holdfast/store/contract';
import { createMemoryStore } from '@holdfast/store/memory';
import { createRelay } from '../relay/index.ts';
import { configMapBody, startTestApi, type TestApi } from '../testing/fixture.ts';

const MAPS = '/api/v1/namespaces/default/configmaps';

/** A store with the first changes of another one, as from a backup of that moment: the same lineage, revisions and write ids. */
async function restored(source: Store, upTo: number, epoch = source.lineage().epoch): Promise<Store> {
  const ids = createIds(createSeededRandom(2, 'restored'));
  const store = createMemoryStore({ ids, lineage: { ...source.lineage(), epoch } });
  await copyUpTo(source, upTo, store);
  return store;
}

async function start(t: TestContext, store: Store): Promise<TestApi> {
  const api = await startTestApi({ store });
  t.after(() => api.stop());
  return api;
}

const createMap = async (api: TestApi, name: string): Promise<void> => {
  assert.equal((await api.call('POST', MAPS, { body: configMapBody(name) })).status, 201);
};

const seenBy = async (api: TestApi, token = 'none'): Promise<string> =>
  (await api.call('GET', MAPS, { headers: { [SEEN_HEADER]: token } })).headers[SEEN_HEADER] ?? '';

test('a client gets a lineage token only on request, and a server of the same history accepts it', async (t) => {
  const api = await start(t, createMemoryStore());
  await createMap(api, 'a');
  assert.equal((await api.call('GET', MAPS)).headers[SEEN_HEADER], undefined);
  const token = await seenBy(api);
  await createMap(api, 'b');
  const again = await api.call('GET', MAPS, { headers: { [SEEN_HEADER]: token } });
  assert.equal(again.status, 200);
  assert.notEqual(again.headers[SEEN_HEADER], token);
  assert.equal(api.store.haltedBy(), undefined);
});

for (const [what, more] of [
  ['and no write has followed', 0],
  ['and it was written past what the client has seen', 4],
] as const) {
  test(`a server that starts on an older copy halts when a client has seen newer data, ${what}`, async (t) => {
    const before = await start(t, createMemoryStore());
    await createMap(before, 'a');
    const copied = await before.store.currentRevision();
    for (const name of ['lost-1', 'lost-2']) await createMap(before, name);
    const token = await seenBy(before);
    const after = await start(t, await restored(before.store, copied));
    for (let i = 0; i < more; i++) await createMap(after, `other-${i}`);
    const refused = await after.call('GET', MAPS, { headers: { [SEEN_HEADER]: token } });
    assert.deepEqual([refused.status, refused.at('reason')], [503, 'ServiceUnavailable']);
    assert.match(refused.textAt('message'), /a client has seen revision \d+.*older data.*holdfast store adopt/);
    for (const query of ['', '?resourceVersion=0', '?watch=1', '/a']) {
      assert.equal((await after.call('GET', `${MAPS}${query}`)).status, 503, 'nobody is served any more');
    }
    assert.equal((await after.call('POST', MAPS, { body: configMapBody('x') })).status, 503);
    const ready = await after.call('GET', '/readyz?verbose');
    assert.match(String(ready.body), /\[-\]etcd failed: the store is halted: a client has seen/);
    assert.match(String((await after.call('GET', '/metrics')).body), /holdfast_store_halted 1/);
  });
}

test('an unsigned token halts nothing; its client lists again', async (t) => {
  const api = await start(t, createMemoryStore());
  const [lineage = '', , mark = '', signature = ''] = (await seenBy(api)).split('.');
  for (const token of ['', 'x', 'a.b.c.d', `${lineage}.999999.${mark}.${signature}`, 'x'.repeat(10_000)]) {
    const answer = await api.call('GET', MAPS, { headers: { [SEEN_HEADER]: token } });
    assert.deepEqual([answer.status, answer.at('reason')], [410, 'Expired'], token.slice(0, 40));
  }
  assert.equal(api.store.haltedBy(), undefined);
});

test('a watch resumes only on a server that has followed the history since the token was issued', async (t) => {
  const before = await start(t, createMemoryStore());
  await createMap(before, 'a');
  const token = await seenBy(before);
  await createMap(before, 'b');
  const after = await start(t, before.store);
  const revision = await before.store.currentRevision();
  const resume = (seen: string) =>
    after.call('GET', `${MAPS}?watch=1&resourceVersion=${revision}`, { headers: { [SEEN_HEADER]: seen } });
  assert.equal((await resume(token)).status, 410);
  assert.equal((await resume(await seenBy(after))).status, 200);
});

interface Followed {
  readonly informer: Informer<ConfigMap>;
  /** From now on this server responds. */
  leadTo(api: TestApi): Promise<void>;
}

/** An informer of ours, with bus, whose server is replaced. */
async function follow(t: TestContext, first: TestApi): Promise<Followed> {
  const clock = createSystemClock();
  const log = createSilentLog();
  const bus = createLocalBus();
  let api = first;
  const handle: ApiHandler = (request) => api.server.handle(request);
  let transport = createDirectTransport(handle);
  const client = createApiClient({
    transport: { request: (request) => transport.request(request), close: () => transport.close() },
    token: 'admin',
    userAgent: 'test',
  });
  const informer = createInformer({ client, bus, resource: CONFIG_MAPS, clock, log });
  t.after(() => informer.stop());
  let relay = createRelay({ store: first.store, bus, clock, log });
  t.after(() => relay.stop());
  await relay.start();
  await informer.start();
  await informer.synced();
  return {
    informer,
    leadTo: async (next) => {
      await relay.stop();
      await transport.close();
      api = next;
      transport = createDirectTransport(handle);
      relay = createRelay({ store: next.store, bus, clock, log });
      await relay.start();
    },
  };
}

const namesOf = ({ informer }: Followed): readonly string[] =>
  informer.list('default').map(({ metadata }) => `${metadata.name}@${metadata.resourceVersion}`);

test('an informer detects a server on an older copy, and copies none of the older state', async (t) => {
  const before = await start(t, createMemoryStore());
  await createMap(before, 'a');
  const copied = await before.store.currentRevision();
  await createMap(before, 'lost');
  const followed = await follow(t, before);
  await eventually(
    async () => followed.informer.get({ namespace: 'default', name: 'lost' }) !== undefined,
    'it is current',
  );
  const after = await start(t, await restored(before.store, copied));
  for (let i = 0; i < 3; i++) await createMap(after, `other-${i}`);
  const known = namesOf(followed);
  await followed.leadTo(after);
  await eventually(async () => after.store.haltedBy() !== undefined, 'the store is halted');
  assert.match(after.store.haltedBy() ?? '', /a client has seen revision/);
  assert.deepEqual(namesOf(followed).slice(0, known.length), known);
});

test('an informer lists again after an adoption, and accepts states of lower revisions than it has seen', async (t) => {
  const before = await start(t, createMemoryStore());
  await createMap(before, 'a');
  const copied = await before.store.currentRevision();
  await before.call('PATCH', `${MAPS}/a`, { body: { data: { lost: 'yes' } } });
  await createMap(before, 'lost');
  const followed = await follow(t, before);
  const after = await start(t, await restored(before.store, copied, 2));
  await followed.leadTo(after);
  const find = (name: string): ConfigMap | undefined => followed.informer.get({ namespace: 'default', name });
  await eventually(async () => find('lost') === undefined, 'what is lost is gone');
  assert.equal(find('a')?.data?.['lost'], undefined);
  await createMap(after, 'later');
  await eventually(async () => find('later') !== undefined, 'it goes on');
  assert.equal(after.store.haltedBy(), undefined);
});
