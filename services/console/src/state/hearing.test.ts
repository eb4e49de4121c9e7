import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Api, Asked, Fetch } from './api.ts';
import { readParties } from './hearing.ts';

const NOW = 1_767_225_660_000;
const READY = '[+]etcd ok\n[+]informer-sync ok\n';

/** An API without objects; `fetch` answers for the API servers. */
function setUp(fetch: Fetch = async () => new Response(READY)) {
  const asked: string[] = [];
  const note = (path: string, { query = {} }: Asked = {}): void =>
    void asked.push(`${path}?${new URLSearchParams(query).toString()}`);
  const api: Api = {
    json: async <T>(path: string, options?: Asked) => {
      note(path, options);
      return { metadata: { resourceVersion: '1' }, items: [] } as T;
    },
    text: async (path, options) => {
      note(path, options);
      return READY;
    },
    stream: () => Promise.reject(new Error('nothing is followed')),
  };
  const pauses: (() => void)[] = [];
  const pause = (): Promise<void> => new Promise((resolve) => pauses.push(resolve));
  return { api, asked, machine: { fetch, pause, now: () => NOW }, endPause: (index: number) => pauses[index]?.() };
}

test('each API server is asked for itself; one that falls silent does not keep the others from being shown', async () => {
  const urls: string[] = [];
  const { api, machine, endPause } = setUp((url) => {
    urls.push(url);
    if (url.includes('silent')) return new Promise(() => {});
    if (url.includes('broken')) return Promise.reject(new TypeError('failed to fetch'));
    if (url.includes('gone')) return Promise.resolve(new Response('{"kind":"Status"}', { status: 503 }));
    if (url.includes('ill')) return Promise.resolve(new Response('[-]etcd failed: cut off\n', { status: 500 }));
    return Promise.resolve(new Response(READY));
  });
  const servers = ['well:1', 'ill:2', 'gone:3', 'broken:4', 'silent:5'];
  const reading = readParties(api, { machine, guard: 'g', servers, at: '' });
  endPause(servers.indexOf('silent:5'));
  const found = (await reading).map(({ name, isHeard, store }) => [name, isHeard.state, store.state]);
  assert.deepEqual(found, [
    ['well:1', 'hears', 'hears'],
    ['ill:2', 'hears', 'silent'],
    ['gone:3', 'silent', 'unknown'],
    ['broken:4', 'silent', 'unknown'],
    ['silent:5', 'silent', 'unknown'],
  ]);
  assert.equal(urls[0], '/ui/servers/well:1/readyz?verbose=');
});

test('without names the API server that answers is the only one', async () => {
  const { api, machine } = setUp();
  const [party] = await readParties(api, { machine, guard: 'g', servers: [], at: '' });
  assert.deepEqual([party?.name, party?.isHeard.state], ['API server', 'hears']);
});

test('a moment of the past is read from the history alone', async () => {
  const { api, asked, machine } = setUp(() => Promise.reject(new Error('no server is asked')));
  const at = '2026-01-01T00:01:00.000Z';
  assert.deepEqual(await readParties(api, { machine, guard: 'g', servers: ['a:1'], at }), []);
  assert.ok(asked.length > 0);
  for (const each of asked) assert.ok(each.startsWith('/holdfast.io/history/v1/'), each);
  assert.ok(asked.some((each) => each.includes('toTime=2026-01-01T00%3A01%3A00Z')));
});
