import { strict as assert } from 'node:assert';
import { type TestContext, test } from 'node:test';
import type { WatchFrame } from '@holdfast/client';
import { createSystemClock } from '@holdfast/platform';
import { configMapBody, startTestApi, type TestApi, valueAt } from '../testing/fixture.ts';

const CONFIG_MAPS = '/api/v1/namespaces/default/configmaps';
const accept = (as: string, type = 'application/json') => ({ accept: `${type};as=${as};v=v1;g=meta.k8s.io` });

/** An API server whose time stands still until the test moves it. */
async function start(t: TestContext) {
  let now = 1_767_225_600_500;
  const api = await startTestApi({ clock: { ...createSystemClock(), now: () => now } });
  t.after(() => api.stop());
  const pass = (ms: number): void => {
    now += ms;
  };
  return { api, pass };
}

interface Watching {
  next(): Promise<WatchFrame>;
}

async function watching(api: TestApi, query: string, headers: Record<string, string>): Promise<Watching> {
  const { raw } = await api.call('GET', `${CONFIG_MAPS}?watch=1&${query}`, { headers });
  assert.ok(raw.body.kind === 'watch');
  const frames = raw.body.frames[Symbol.asyncIterator]();
  return {
    next: async () => {
      const { value, done } = await frames.next();
      assert.ok(done !== true);
      return value as WatchFrame;
    },
  };
}

const bytesOf = async (watches: readonly Watching[]): Promise<ReadonlySet<Uint8Array>> =>
  new Set(await Promise.all(watches.map(async (each) => (await each.next()).bytes())));

for (const [what, query, headers] of [
  ['tables', 'includeObject=Object', accept('Table')],
  ['partial objects', '', accept('PartialObjectMetadata')],
  ['partial objects in protobuf', '', accept('PartialObjectMetadata', 'application/vnd.kubernetes.protobuf')],
] as const) {
  test(`a change is composed once for all watchers of ${what}`, async (t) => {
    const { api } = await start(t);
    const watches: Watching[] = [];
    for (let i = 0; i < 4; i++) watches.push(await watching(api, `resourceVersion=0&${query}`, headers));
    const composed: ReadonlySet<Uint8Array>[] = [];
    for (const [i, name] of ['a', 'b'].entries()) {
      // Some wait for it, and some take it later.
      const waiting = bytesOf(watches.slice(i));
      await api.call('POST', CONFIG_MAPS, { body: configMapBody(name) });
      composed.push(await waiting);
      assert.equal(composed.at(-1)?.size, 1, name);
    }
    const [late] = await bytesOf(watches.slice(0, 1));
    assert.ok(late !== undefined && composed.at(-1)?.has(late) === true);
  });
}

test('watchers that want different tables get different ones', async (t) => {
  const { api } = await start(t);
  const queries = ['includeObject=Object', 'includeObject=None', 'includeObject=Metadata', ''];
  const watches = await Promise.all(
    queries.map((query) => watching(api, `resourceVersion=0&${query}`, accept('Table'))),
  );
  const partial = await watching(api, 'resourceVersion=0', accept('PartialObjectMetadata'));
  const waiting = Promise.all([...watches, partial].map(async (each) => (await each.next()).value().object));
  await api.call('POST', CONFIG_MAPS, { body: configMapBody('a', { k: 'v' }) });
  const objects = await waiting;
  assert.deepEqual(
    objects.map((object) => [valueAt(object, 'kind'), valueAt(object, 'rows.0.object.kind')]),
    [
      ['Table', 'ConfigMap'],
      ['Table', undefined],
      ['Table', 'PartialObjectMetadata'],
      ['Table', 'PartialObjectMetadata'],
      ['PartialObjectMetadata', undefined],
    ],
  );
});

test('only the first table of each watch has columns, and a table that is taken later tells the age of then', async (t) => {
  const { api, pass } = await start(t);
  const early = await watching(api, 'resourceVersion=0', accept('Table'));
  await api.call('POST', CONFIG_MAPS, { body: configMapBody('a') });
  const first = (await early.next()).value().object;
  const since = Number(valueAt(first, 'metadata.resourceVersion')) - 1;
  await api.call('POST', CONFIG_MAPS, { body: configMapBody('b') });
  const late = await watching(api, `resourceVersion=${since}`, accept('Table'));
  pass(3_000);
  const tables = [first, (await early.next()).value().object, (await late.next()).value().object];
  assert.deepEqual(
    tables.map((table) => [valueAt(table, 'columnDefinitions') !== null, valueAt(table, 'rows.0.cells.2')]),
    [
      [true, '0s'],
      [false, '3s'],
      [true, '3s'],
    ],
  );
});
