import { strict as assert } from 'node:assert';
import { readFile, writeFile } from 'node:fs/promises';
import { type TestContext, test } from 'node:test';
import {
  createIds,
  createSeededRandom,
  createSilentLog,
  createSystemClock,
  createSystemRandom,
  OperatorError,
} from '@holdfast/platform';
import { eventually } from '@holdfast/platform/contract';
import { type DurableStore, StoreUnavailable } from '@holdfast/store';
import { changesUpTo } from '@holdfast/store/contract';
import { adoptRedisStore, createRedisStore, type RedisStoreOptions } from '@holdfast/store/redis';
import { appendOnlyFile, type RedisServer, startRedis } from '../support/redis-server.ts';

const FLIPS = 12;
const clock = createSystemClock();

/** A store that is closed when the test ends. */
async function open(t: TestContext, url: string, options: Partial<RedisStoreOptions> = {}): Promise<DurableStore> {
  const ids = createIds(createSystemRandom());
  const store = await createRedisStore({ url, clock, ids, log: createSilentLog(), ...options });
  t.after(() => store.close());
  return store;
}

/** Changes one bit of the append-only file while the server does not run, where the text is for the last time or the number says. */
async function flipBit(server: RedisServer, where: string | number): Promise<void> {
  await server.kill();
  const path = await appendOnlyFile(server);
  const bytes = await readFile(path);
  const at = typeof where === 'string' ? bytes.lastIndexOf(where) : where % bytes.length;
  bytes[at] = (bytes[at] ?? 0) ^ 1;
  await writeFile(path, bytes);
}

/** Lets an operator adopt what the server has. Resolves with what was told about. */
async function adoptAndListen(server: RedisServer): Promise<readonly string[]> {
  const told: string[] = [];
  await adoptRedisStore({
    url: server.url,
    clock,
    log: { ...createSilentLog(), warn: (text) => void told.push(text) },
  });
  return told;
}

const FLIPPED = [
  ['value', 'acknowledged', /core\/pods\/default\/a at revision 2 is not what was written/],
  ['name', '{k8s}:o:core/pods/default/a', /core\/pods\/default\/a is not as the history says/],
  ['index', '{k8s}:i:core/pods', /core\/pods\/default\/a is not as the history says/],
] as const;

for (const [what, where, reason] of FLIPPED)
  test(`redis: a flipped bit in the ${what} of an object halts the store, and an adoption takes the object from the history`, async (t) => {
    await using server = await startRedis();
    const store = await open(t, server.url);
    const key = 'core/pods/default/a';
    await store.write([{ kind: 'create', key: 'core/pods/default/b', value: '{}' }]);
    await store.write([{ kind: 'create', key, value: '{"n":"acknowledged"}' }]);
    await store.close();
    await flipBit(server, where);
    await server.restart();
    const other = await open(t, server.url);
    assert.match(other.haltedBy() ?? '', reason);
    await assert.rejects(other.get(key), { name: 'StoreUnavailable' });
    await other.close();
    assert.deepEqual(
      await adoptAndListen(server),
      what === 'index' ? [] : ['a damaged object was made what the history says'],
    );
    const mended = await open(t, server.url);
    const { objects } = await mended.list('core/pods/default/a');
    assert.deepEqual(
      objects.map(({ value }) => value),
      ['{"n":"acknowledged"}'],
    );
    assert.equal((await mended.health()).length, 0);
  });

test('redis: an adoption keeps a damaged value that nothing else has, or refuses what nobody can read', async (t) => {
  for (const where of ['acknowledged', '{"n":']) {
    await using server = await startRedis();
    const store = await open(t, server.url);
    await store.write([{ kind: 'create', key: 'core/pods/default/a', value: '{"n":"acknowledged"}' }]);
    await store.compact(1);
    await store.close();
    await flipBit(server, where);
    await server.restart();
    if (where === 'acknowledged')
      assert.deepEqual(await adoptAndListen(server), ['a damaged value was kept as it is: look at the object']);
    else await assert.rejects(adoptAndListen(server), { code: 'STORE_DAMAGED' });
  }
});

test('redis: a flipped bit in the history halts the store before a follower is told of it', async (t) => {
  await using server = await startRedis();
  const store = await open(t, server.url);
  await store.write([{ kind: 'create', key: 'core/pods/default/a', value: '{"n":"replaced"}' }]);
  await store.write([{ kind: 'update', key: 'core/pods/default/a', value: '{"n":"current"}', expectedRevision: 1 }]);
  await store.close();
  await flipBit(server, 'replaced');
  // The first of the two places is the entry of the history, the last the object; the object has another value now.
  await server.kill();
  const path = await appendOnlyFile(server);
  const bytes = await readFile(path);
  const at = bytes.indexOf('replaced');
  bytes[at] = (bytes[at] ?? 0) ^ 1;
  await writeFile(path, bytes);
  await server.restart();
  const other = await open(t, server.url);
  await assert.rejects(changesUpTo(other, 0, 2), { name: 'StoreUnavailable' });
  await eventually(async () => other.haltedBy() !== undefined, 'it is halted');
  assert.match(other.haltedBy() ?? '', /in the history is not what was written/);
});

test('redis: any flipped bit of the append-only file stops the server, halts the store, or changes no value', async (t) => {
  const random = createSeededRandom(7, 'flips');
  const outcomes: string[] = [];
  for (let round = 0; round < FLIPS; round++) {
    await using server = await startRedis();
    const store = await open(t, server.url);
    const keys = Array.from({ length: 6 }, (_, n) => `core/pods/default/p${n}`);
    for (const key of keys) await store.write([{ kind: 'create', key, value: JSON.stringify({ key, at: 'first' }) }]);
    for (const [n, key] of keys.entries())
      await store.write([{ kind: 'update', key, value: JSON.stringify({ key, at: 'last' }), expectedRevision: n + 1 }]);
    await store.close();
    await flipBit(server, random.int(1_000_000));
    outcomes.push(await outcomeOf(t, server, keys));
  }
  const wrong = outcomes.filter((outcome) => !/^(?:refused|halted|harmless)$/.test(outcome));
  assert.deepEqual(wrong, [], outcomes.join(' '));
});

async function outcomeOf(t: TestContext, server: RedisServer, keys: readonly string[]): Promise<string> {
  try {
    await server.restart();
  } catch {
    return 'refused';
  }
  try {
    const store = await open(t, server.url, { startTimeoutMs: 5_000 });
    const { objects } = await store.list('core/pods/');
    const expected = keys.map((key) => [key, JSON.stringify({ key, at: 'last' })]);
    const found = objects.map(({ key, value }) => [key, value]);
    return JSON.stringify(found) === JSON.stringify(expected) ? 'harmless' : `changed: ${JSON.stringify(found)}`;
  } catch (error) {
    return error instanceof StoreUnavailable || error instanceof OperatorError ? 'halted' : String(error);
  }
}
