import assert from 'node:assert/strict';
import { test } from 'node:test';
import { AbusedApi, statusOf } from '../support/abused-api.ts';

const HEAP_MB = 256;
const OBJECT_BYTES = 1024 * 1024;
const WRITERS = 4;
/** Consecutive refusals before the store counts as full. */
const REFUSALS = 8;

const configMaps = (namespace: string): string => `/api/v1/namespaces/${namespace}/configmaps`;

/** The largest memory per length when parsed: thousands of short members, the maximum of one object. */
const manyMembers = (count: number): Record<string, string> =>
  Object.fromEntries(Array.from({ length: count }, (_, n) => [`k${n}`, '']));

for (const [what, data] of [
  ['long texts', { a: 'x'.repeat(OBJECT_BYTES) }],
  ['texts of two bytes a character', { a: `${'x'.repeat(OBJECT_BYTES / 2)}\u65e5` }],
  ['thousands of short members', manyMembers(9_000)],
] as const) {
  test(`a server with a small heap that is filled with ${what} keeps serving, and recovers when they are deleted`, async () => {
    await using api = await AbusedApi.start({}, HEAP_MB);
    const made = await fill(api, data);
    assert.ok(made.length > WRITERS, `${made.length} objects`);
    assert.match((await api.call('GET', '/readyz?verbose')).text, /the store is (nearly )?full/);
    // All objects are read, parsed and filtered by label.
    for (const url of [`${configMaps('default')}?labelSelector=a%3Db`, configMaps('default')]) {
      assert.equal((await api.call('GET', url)).status, 200);
    }
    for (const name of made) assert.equal((await api.call('DELETE', `${configMaps('default')}/${name}`)).status, 200);
    const again = await api.call('POST', configMaps('default'), JSON.stringify({ metadata: { name: 'again' }, data }));
    assert.equal(again.status, 201, again.text);
  });
}

/** Names of what was made until nothing went in any more. */
async function fill(api: AbusedApi, data: unknown): Promise<string[]> {
  const made: string[] = [];
  let refused = 0;
  let next = 0;
  const write = async (): Promise<void> => {
    while (refused < REFUSALS) {
      const name = `c-${next++}`;
      const reply = await api.call('POST', configMaps('default'), JSON.stringify({ metadata: { name }, data }));
      if (reply.status === 201) made.push(name);
      else {
        assert.deepEqual([reply.status, statusOf(reply).code], [500, 500], reply.text);
        refused += 1;
      }
    }
  };
  await Promise.all(Array.from({ length: WRITERS }, write));
  return made;
}
