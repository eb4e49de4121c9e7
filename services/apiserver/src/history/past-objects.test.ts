import { strict as assert } from 'node:assert';
import { test } from 'node:test';
import { createSeededRandom, dateOf } from '@holdfast/platform';
import { createMemoryStore } from '@holdfast/store/memory';
import { configMapBody } from '../testing/fixture.ts';
import { createMemorySegments } from './segment-store.ts';
import { HISTORY, type HistoryApi, mortal, SEGMENT_MS, startHistoryApi } from './testing.ts';

const LISTS = ['/api/v1/configmaps', '/api/v1/namespaces/default/configmaps', '/apis/apps/v1/deployments'];
const PLACES = ['default', 'kube-system'];

/** One random write, which may be refused. */
async function write(api: HistoryApi, random: ReturnType<typeof createSeededRandom>): Promise<void> {
  const folder = `/api/v1/namespaces/${PLACES[random.int(2)]}/configmaps`;
  const name = `c${random.int(6)}`;
  const data = { n: String(random.int(1000)), long: 'ä\n"x"'.repeat(random.int(30)) };
  switch (random.int(4)) {
    case 0:
      await api.call('DELETE', `${folder}/${name}`);
      return;
    case 1:
      await api.call('PATCH', `${folder}/${name}`, { body: { data } });
      return;
    default:
      await api.call('POST', folder, { body: configMapBody(name, data) });
  }
}

async function listsOf(api: HistoryApi): Promise<readonly unknown[]> {
  return Promise.all(LISTS.map(async (path) => (await api.call('GET', path)).body));
}

for (const seed of [1, 2, 3, 4, 5, 6]) {
  test(`history: a list as of a revision is the list that was true then (seed ${seed})`, async () => {
    const random = createSeededRandom(seed, 'history');
    const store = createMemoryStore();
    const shared = createMemorySegments();
    let segments = mortal(shared);
    let api = await startHistoryApi({ store, segments });
    const known = new Map<number, readonly unknown[]>();
    for (let step = 0; step < 80; step++) {
      await write(api, random);
      const lists = await listsOf(api);
      known.set(Number((await api.call('GET', '/api/v1/configmaps')).at('metadata.resourceVersion')), lists);
      if (random.int(4) === 0) api.clock.jump(random.int(3 * SEGMENT_MS));
      // A crash, or an ordinary end: the next server continues the same history.
      if (random.int(25) === 0 && (await shared.list()).length > 0) {
        const { clock, server } = api;
        if (random.int(2) === 0) await server.stop();
        segments.die();
        segments = mortal(shared);
        api = await startHistoryApi({ store, segments, clock });
      }
    }
    const oldest = Number((await api.call('GET', HISTORY)).at('oldest.revision'));
    let compared = 0;
    for (const [revision, lists] of known) {
      for (const [i, path] of LISTS.entries()) {
        const answer = await api.call('GET', `${HISTORY}/objects${path}?revision=${revision}`);
        if (revision < oldest) assert.equal(answer.status, 410);
        else assert.deepEqual(answer.body, lists[i], `${path} at ${revision}`);
      }
      if (revision >= oldest) compared++;
    }
    assert.ok(compared > known.size / 2, `${compared} of ${known.size} revisions are kept`);
    await api.stop();
  });
}

test('history: an object, pages, a selector and a time of the past', async () => {
  const api = await startHistoryApi();
  const folder = '/api/v1/namespaces/default/configmaps';
  for (const name of ['a', 'b', 'c']) await api.call('POST', folder, { body: configMapBody(name, { v: '1' }) });
  const at = (await api.call('GET', folder)).textAt('metadata.resourceVersion');
  const time = dateOf(api.clock.now()).toISOString();
  api.clock.jump(SEGMENT_MS);
  await api.call('PATCH', `${folder}/b`, { body: { data: { v: '2' }, metadata: { labels: { new: 'yes' } } } });
  await api.call('DELETE', `${folder}/c`);
  const past = `${HISTORY}/objects${folder}`;
  assert.equal((await api.call('GET', `${past}/b?revision=${at}`)).at('data.v'), '1');
  assert.equal((await api.call('GET', `${past}/b`)).at('data.v'), '2');
  assert.equal((await api.call('GET', `${past}/c?time=${time}`)).status, 200);
  assert.equal((await api.call('GET', `${past}/c`)).status, 404);
  assert.deepEqual((await api.call('GET', `${past}?labelSelector=new`)).names(), ['b']);
  assert.deepEqual((await api.call('GET', `${past}?labelSelector=new&revision=${at}`)).names(), []);
  const first = await api.call('GET', `${past}?revision=${at}&limit=2`);
  assert.deepEqual([first.names(), first.at('metadata.remainingItemCount')], [['a', 'b'], 1]);
  const token = first.textAt('metadata.continue');
  assert.deepEqual((await api.call('GET', `${past}?limit=2&continue=${token}`)).names(), ['c']);
  const table = { accept: 'application/json;as=Table;v=v1;g=meta.k8s.io' };
  assert.equal((await api.call('GET', `${past}?revision=${at}`, { headers: table })).at('kind'), 'Table');
  await api.stop();
});

test('history: what is not there is refused in a sentence', async () => {
  const api = await startHistoryApi();
  const status = async (url: string): Promise<unknown> => (await api.call('GET', `${HISTORY}${url}`)).status;
  assert.equal(await status('/objects/api/v1/nothings'), 404);
  assert.equal(await status('/objects/api/v1'), 400);
  assert.equal(await status('/objects/api/v1/pods?revision=x'), 400);
  assert.equal(await status('/objects/api/v1/pods?time=today'), 400);
  assert.equal(await status('/objects/api/v1/pods?revision=1&time=2026-01-31T10:00:00Z'), 400);
  assert.equal(await status('/objects/api/v1/pods?time=2020-01-31T10:00:00Z'), 410);
  assert.equal(await status('/objects/api/v1/namespaces/default/pods/a/log'), 400);
  assert.equal(await status('/changes?from=1&since=10m'), 400);
  assert.equal(await status('/changes?since=yesterday'), 400);
  assert.equal(await status('/changes?continue=%7B'), 400);
  assert.equal(await status('/other'), 404);
  assert.equal((await api.call('POST', HISTORY, { body: {} })).status, 405);
  await api.stop();
});
