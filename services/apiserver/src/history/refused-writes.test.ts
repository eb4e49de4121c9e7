import { strict as assert } from 'node:assert';
import { test } from 'node:test';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { HISTORY_KEY_CHARS_MAX } from '../limits.ts';
import { OpenBatch } from './open-batch.ts';
import { HISTORY, type HistoryApi, startHistoryApi } from './testing.ts';

const LONG_CHARS = 60_000;

/** An update of an object that does not exist, though the client has an identity of it: it is refused before names are validated. */
async function conflict(
  api: HistoryApi,
  { namespace = 'default', name = 'a', query = '', userAgent = 'test' },
): Promise<void> {
  const body = { apiVersion: 'v1', kind: 'ConfigMap', metadata: { name, uid: 'another' } };
  const url = `/api/v1/namespaces/${namespace}/configmaps/${name}${query}`;
  assert.equal((await api.call('PUT', url, { body, headers: { 'user-agent': userAgent } })).status, 409);
}

test('history: a refused write of a name that nothing can have is not kept', async () => {
  const api = await startHistoryApi();
  const long = 'n'.repeat(HISTORY_KEY_CHARS_MAX);
  await conflict(api, { name: long });
  await conflict(api, { namespace: long });
  await conflict(api, { name: 'b'.repeat(253) });
  const told = await api.call('GET', `${HISTORY}/changes/api/v1/configmaps`);
  const items = told.at('items') as readonly { readonly type: string }[];
  const refused = items.filter(({ type }) => type === 'refused').map((each) => JSON.stringify(each));
  assert.equal(refused.length, 1);
  assert.match(refused[0] ?? '', /"b{253}"/);
  await api.stop();
});

test('history: the key and the reason of a refused write count', () => {
  const charsOf = (key: string, reason: string): number => {
    const batch = new OpenBatch(1, 0);
    const author = { user: 'a', userAgent: '', verb: 'update', subresource: '', manager: '' };
    const authorship = { author, resource: 'core/configmaps/', requestId: '', seenOfResource: 0, seenOfAny: 0 };
    batch.refused({ key, reason, authorship }, 0);
    return batch.chars;
  };
  const none = charsOf('', '');
  assert.deepEqual([charsOf('k'.repeat(500), '') - none, charsOf('', 'r'.repeat(200)) - none], [500, 200]);
});

test('history: what is kept of a refused write does not keep the URL, the message and the headers', async () => {
  setFlagsFromString('--expose-gc');
  const heapBytes = (): number => {
    runInNewContext('gc()');
    return process.memoryUsage().heapUsed;
  };
  const api = await startHistoryApi();
  const write = (n: number): Promise<void> =>
    conflict(api, {
      name: `configuration-of-program-${n}`,
      query: `?x=${n}${'x'.repeat(LONG_CHARS)}`,
      userAgent: `program-with-a-name-${n}${'y'.repeat(LONG_CHARS)}`,
    });
  await write(0);
  const before = heapBytes();
  for (let n = 1; n <= 200; n++) await write(n);
  const keptBytes = heapBytes() - before;
  assert.ok(keptBytes < 50 * LONG_CHARS, `${keptBytes} bytes`);
  await api.stop();
});
