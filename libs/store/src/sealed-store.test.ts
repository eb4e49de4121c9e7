import assert from 'node:assert/strict';
import { test } from 'node:test';
import { eventually } from '@holdfast/platform/contract';
import { changesUpTo } from './contract/index.ts';
import { REOPENINGS_MAX } from './limits.ts';
import { createMemoryStore } from './memory/index.ts';
import type { Store } from './port.ts';
import { SEALED_PREFIX, type Sealer, Unreadable } from './sealed-port.ts';
import { createSealedStore } from './sealed-store.ts';

const KEY = 'core/secrets/default/a';

/** A sealer whose key is present or absent as the test says. */
class TestSealer implements Sealer {
  hasKey = true;
  /** Runs before each look at values. */
  onPrepare: () => Promise<void> = async () => {};
  tell: () => void = () => assert.fail();

  readonly covers = (): boolean => true;
  readonly seal = (_key: string, value: string): string => `${SEALED_PREFIX}${value}`;
  readonly open = (key: string, stored: string): { readonly value: string; readonly isStale: boolean } => {
    if (!this.hasKey) throw new Unreadable(key, 'no key');
    return { value: stored.slice(SEALED_PREFIX.length), isStale: false };
  };
  readonly prepare = (): Promise<void> => this.onPrepare();
  readonly onReady = (listener: () => void): void => {
    this.tell = listener;
  };
}

function sealedStore(): { readonly store: Store; readonly sealer: TestSealer; readonly readable: string[] } {
  const sealer = new TestSealer();
  const store = createSealedStore(createMemoryStore(), sealer);
  const readable: string[] = [];
  store.atRest?.onReadable(({ value }) => readable.push(value));
  return { store, sealer, readable };
}

const unreadableCount = (store: Store): number => store.atRest?.unreadableCount() ?? assert.fail();

test('a read that ends after the feed delivered the deletion does not mark the object as undecryptable', async () => {
  const { store, sealer } = sealedStore();
  await store.write([{ kind: 'create', key: KEY, value: '{"a":1}' }]);
  const gate = Promise.withResolvers<void>();
  sealer.onPrepare = () => gate.promise;
  const late = store.get(KEY);
  await Promise.resolve();
  sealer.onPrepare = async () => {};
  await store.write([{ kind: 'delete', key: KEY, expectedRevision: 1, value: '{"a":1}' }]);
  await changesUpTo(store, 0, 2);
  sealer.hasKey = false;
  gate.resolve();
  await assert.rejects(late, Unreadable);
  assert.equal(unreadableCount(store), 0, 'the object does not exist any more');
});

test('an object that could not be decrypted is delivered once it can be, also when the signal comes during a read', async () => {
  const { store, sealer, readable } = sealedStore();
  await store.write([{ kind: 'create', key: KEY, value: '{"a":1}' }]);
  sealer.hasKey = false;
  await changesUpTo(store, 0, 1);
  assert.equal(unreadableCount(store), 1);
  const [begun, gate] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
  let reads = 0;
  sealer.onPrepare = async () => {
    if (++reads > 1) sealer.hasKey = true;
    else begun.resolve();
    await gate.promise;
  };
  sealer.tell();
  await begun.promise;
  sealer.tell();
  gate.resolve();
  await eventually(() => readable.length > 0, 'the object is brought', { deadlineMs: 10_000 });
  assert.deepEqual(readable, ['{"a":1}']);
  assert.equal(unreadableCount(store), 0);
});

test('signals caused by reads converge', async () => {
  const { store, sealer } = sealedStore();
  await store.write([{ kind: 'create', key: KEY, value: '{}' }]);
  sealer.hasKey = false;
  await changesUpTo(store, 0, 1);
  let reads = 0;
  sealer.onPrepare = async () => {
    reads++;
    sealer.tell();
  };
  sealer.tell();
  await eventually(() => reads >= REOPENINGS_MAX, 'the reads are done', { deadlineMs: 10_000 });
  for (let turn = 0; turn < 100; turn++) await Promise.resolve();
  assert.equal(reads, REOPENINGS_MAX);
});
