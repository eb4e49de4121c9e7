import { strict as assert } from 'node:assert';
import { mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import os from 'node:os';
import path from 'node:path';
import { test } from 'node:test';
import { createSealedStore, type Sealer } from '@holdfast/store';
import { createMemoryStore } from '@holdfast/store/memory';
import { configMapBody, startTestApi } from '../testing/fixture.ts';
import { createDirectorySegments } from './directory-segments.ts';
import { createMemorySegments, type SegmentStore } from './segment-store.ts';
import { HISTORY, SEGMENT_MS, startHistoryApi, until, writeSegments } from './testing.ts';

const FOLDER = '/api/v1/namespaces/default/configmaps';
const PAST = `${HISTORY}/objects${FOLDER}`;

async function inDirectory(run: (directory: string) => Promise<void>): Promise<void> {
  const directory = await mkdtemp(path.join(os.tmpdir(), 'holdfast-history-'));
  try {
    await run(directory);
  } finally {
    await rm(directory, { recursive: true, force: true });
  }
}

test('history: without one the endpoint says so, and anything else is as before', async () => {
  const api = await startTestApi();
  const answer = await api.call('GET', HISTORY);
  assert.deepEqual([answer.status, answer.at('kind'), answer.at('reason')], [404, 'Status', 'NotFound']);
  await api.stop();
});

test('history: old segments are dropped by age, and 410 names the oldest revision', async () => {
  const api = await startHistoryApi();
  const [first = ''] = await writeSegments(api, 4);
  assert.deepEqual((await api.call('GET', `${PAST}?revision=${first}`)).names(), ['c0']);
  api.clock.jump(595_000);
  await writeSegments(api, 6);
  await until(async () => (await api.call('GET', `${PAST}?revision=${first}`)).status !== 200);
  const gone = await api.call('GET', `${PAST}?revision=${first}`);
  const oldest = (await api.call('GET', HISTORY)).textAt('oldest.revision');
  assert.deepEqual([gone.status, gone.at('reason')], [410, 'Expired']);
  assert.ok(
    gone.textAt('message').includes(`the oldest revision that can be read is ${oldest}`),
    gone.textAt('message'),
  );
  assert.equal((await api.call('GET', `${PAST}?revision=${oldest}`)).status, 200);
  assert.equal((await api.call('GET', `${HISTORY}/changes?from=${first}`)).status, 410);
  assert.equal((await api.call('GET', `${HISTORY}/changes?since=24h`)).status, 200);
  await api.stop();
});

test('history: it stays within its bytes', async () => {
  const api = await startHistoryApi({ limitBytes: 6_000 });
  await writeSegments(api, 12);
  await until(async () => (await api.segments.list()).some(({ name }) => name > '0'.repeat(16)));
  const range = await api.call('GET', HISTORY);
  assert.ok(Number(range.at('usedBytes')) <= 6_000, String(range.at('usedBytes')));
  const oldest = range.textAt('oldest.revision');
  assert.ok(Number(oldest) > 0 && (await api.call('GET', `${PAST}?revision=${oldest}`)).status === 200);
  await api.stop();
});

test('history: it survives a restart, in files of its own', async () => {
  await inDirectory(async (directory) => {
    const store = createMemoryStore();
    const api = await startHistoryApi({ store, segments: createDirectorySegments(directory) });
    const [first = ''] = await writeSegments(api, 3);
    await api.call('PATCH', `${FOLDER}/c0`, { body: { data: { n: 'new' } } });
    await api.server.stop();
    const next = await startHistoryApi({ store, segments: createDirectorySegments(directory), clock: api.clock });
    assert.equal((await next.call('GET', `${PAST}/c0?revision=${first}`)).at('data.n'), '0');
    const { items } = (await next.call('GET', `${HISTORY}/changes${FOLDER}/c0`)).body as { items: { by: unknown }[] };
    assert.equal(items.length, 2);
    assert.ok(items.every(({ by }) => (by as { user: string }).user === 'admin'));
    assert.deepEqual(next.warnings, []);
    await next.stop();
  });
});

test('history: another store, or one that was adopted, begins a history of its own', async () => {
  const segments = { ...createMemorySegments(), isLasting: true };
  const api = await startHistoryApi({ segments });
  await writeSegments(api, 3);
  await api.stop();
  const lineage = { incarnation: 'another', epoch: 1 };
  const next = await startHistoryApi({ segments, store: createMemoryStore({ lineage }) });
  await writeSegments(next, 1);
  assert.deepEqual((await next.call('GET', PAST)).names(), ['c0']);
  assert.equal((await segments.list()).length, 0);
  await next.stop();
});

for (const [what, damage] of [
  ['cut off', (bytes: Buffer) => bytes.subarray(0, 20)],
  ['empty', () => Buffer.alloc(0)],
  ['overwritten', (bytes: Buffer) => Buffer.from(bytes.map((byte, i) => (i > 40 ? byte ^ 1 : byte)))],
  ['of another program', () => Buffer.from('hello, this is no segment at all')],
] as const) {
  test(`history: a segment that is ${what} is dropped with what is older, and the server starts`, async () => {
    await inDirectory(async (directory) => {
      const store = createMemoryStore();
      const api = await startHistoryApi({ store, segments: createDirectorySegments(directory) });
      const [first = '', , , , last = ''] = await writeSegments(api, 6);
      await api.server.stop();
      const names = (await readdir(directory)).sort();
      const file = path.join(directory, names[2] ?? '');
      await writeFile(file, damage(await readFile(file)));
      const next = await startHistoryApi({ store, segments: createDirectorySegments(directory), clock: api.clock });
      assert.equal((await next.call('GET', `${PAST}?revision=${first}`)).status, 410);
      assert.equal((await next.call('GET', `${PAST}?revision=${last}`)).status, 200);
      assert.match(next.warnings.join('\n'), /a segment of the history is damaged; it and everything older is dropped/);
      assert.ok((await readdir(directory)).length < names.length);
      await next.stop();
    });
  });
}

test('history: a block that is damaged is found when it is read', async () => {
  await inDirectory(async (directory) => {
    const api = await startHistoryApi({ segments: createDirectorySegments(directory) });
    const [first = '', , , , last = ''] = await writeSegments(api, 6);
    await until(async () => (await readdir(directory)).filter((name) => name.endsWith('.segment')).length > 2);
    const [file = ''] = (await readdir(directory)).sort().slice(1);
    const bytes = await readFile(path.join(directory, file));
    bytes[bytes.length - 1] = (bytes[bytes.length - 1] ?? 0) ^ 1;
    await writeFile(path.join(directory, file), bytes);
    assert.equal((await api.call('GET', `${PAST}?revision=${first}`)).status, 410);
    assert.equal((await api.call('GET', `${PAST}?revision=${last}`)).status, 200);
    assert.equal(api.warnings.length, 1);
    await api.stop();
  });
});

test('history: a folder that takes nothing costs the history, not the server', async () => {
  const broken: SegmentStore = {
    ...createMemorySegments(),
    open: () => Promise.reject(new Error('no such folder')),
    write: () => Promise.reject(new Error('no space left')),
  };
  const api = await startHistoryApi({ segments: broken });
  await writeSegments(api, 6);
  assert.equal((await api.call('GET', PAST)).names().length, 6);
  await until(() => /no such folder[\s\S]*no space left/.test(api.warnings.join('\n')));
  const oldest = (await api.call('GET', HISTORY)).textAt('oldest.revision');
  assert.equal((await api.call('GET', `${PAST}?revision=${oldest}`)).status, 200);
  await api.stop();
});

test('history: contents of secrets and of encrypted resources are in no segment', async () => {
  const sealer: Sealer = {
    covers: (key) => key.startsWith('core/configmaps/'),
    seal: (_key, value) => `k8s:enc:${Buffer.from(value).toString('base64')}`,
    open: (_key, stored) => ({ value: Buffer.from(stored.slice(8), 'base64').toString(), isStale: false }),
  };
  const kept: Buffer[] = [];
  const memory = { ...createMemorySegments(), isLasting: true };
  const segments = { ...memory, write: (name: string, bytes: Buffer) => (kept.push(bytes), memory.write(name, bytes)) };
  const api = await startHistoryApi({ segments, store: createSealedStore(createMemoryStore(), sealer) });
  const secret = { apiVersion: 'v1', kind: 'Secret', metadata: { name: 's' }, stringData: { password: 'hunter2' } };
  await api.call('POST', '/api/v1/namespaces/default/secrets', { body: secret });
  await api.call('PATCH', '/api/v1/namespaces/default/secrets/s', { body: { stringData: { password: 'hunter3' } } });
  await api.call('POST', FOLDER, { body: configMapBody('a', { word: 'confidential' }) });
  const at = (await api.call('GET', FOLDER)).textAt('metadata.resourceVersion');
  await api.call('PATCH', `${FOLDER}/a`, { body: { data: { word: 'confidential too' } } });
  api.clock.jump(SEGMENT_MS);
  await writeSegments(api, 3);
  for (const url of [PAST, `${HISTORY}/objects/api/v1/secrets`]) {
    const past = await api.call('GET', `${url}?revision=${at}`);
    assert.equal(past.at('items.0.metadata.annotations')?.constructor, Object);
    assert.deepEqual([past.at('items.0.data'), past.names().length > 0], [undefined, true]);
  }
  const { items } = (await api.call('GET', `${HISTORY}/changes${FOLDER}/a`)).body as { items: { diff?: unknown }[] };
  assert.deepEqual([items.length, items.map(({ diff }) => diff)], [2, [undefined, undefined]]);
  await api.server.stop();
  const { readHead, readBlock } = await import('./segment.ts');
  let texts = '';
  for (const bytes of kept) {
    const read = async (from: number, length: number): Promise<Buffer> => bytes.subarray(from, from + length);
    const head = await readHead(read);
    for (const prefix of head.head.blocks.keys()) {
      for (const { value, before } of await readBlock(head, prefix, read)) texts += value + before;
    }
  }
  assert.ok(texts.includes('kube-system'), 'other contents are there');
  for (const word of ['hunter', Buffer.from('hunter2').toString('base64'), 'confidential'])
    assert.ok(!texts.includes(word), word);
  await api.store.close();
});
