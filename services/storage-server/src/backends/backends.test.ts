import assert from 'node:assert/strict';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { backendContract } from './contract.ts';
import { openDirectoryBackend } from './directory/directory-backend.ts';
import { createMemoryBackend } from './memory-backend.ts';

function makeDirectory(t: TestContext): string {
  const directory = mkdtempSync(join(tmpdir(), 'holdfast-storage-'));
  t.after(() => rmSync(directory, { recursive: true, force: true }));
  return directory;
}

backendContract('memory', () => {
  const volumes = new Map();
  return () => createMemoryBackend(volumes);
});

backendContract('directory', (t) => {
  const directory = makeDirectory(t);
  return () => openDirectoryBackend(directory);
});

test('a data directory has one server at a time', async (t) => {
  const directory = makeDirectory(t);
  const first = openDirectoryBackend(directory);
  assert.throws(() => openDirectoryBackend(directory), /another storage server uses it/);
  await first.close();
  await openDirectoryBackend(directory).close();
});

test('a data directory that cannot be created is refused', (t) => {
  const file = join(makeDirectory(t), 'file');
  writeFileSync(file, '');
  assert.throws(() => openDirectoryBackend(join(file, 'data')), { name: 'OperatorError', code: 'DATA_UNUSABLE' });
});

test('a volume with a missing data file is refused instead of being empty', async (t) => {
  const directory = makeDirectory(t);
  const first = openDirectoryBackend(directory);
  await first.open('data');
  await first.close();
  rmSync(join(directory, 'volumes', 'data'));
  const next = openDirectoryBackend(directory);
  await assert.rejects(next.open('data'), /volume data is damaged: its data file is missing/);
  await next.close();
});

test('a volume with a missing token is refused instead of accepting any writer', async (t) => {
  const directory = makeDirectory(t);
  const first = openDirectoryBackend(directory);
  await (await first.open('data')).data.write(0, Buffer.from('x'));
  await first.saveToken('data', 9);
  await first.close();
  rmSync(join(directory, 'tokens.sqlite'));
  const next = openDirectoryBackend(directory);
  await assert.rejects(next.open('data'), /volume data is damaged: its token is missing/);
  await next.close();
});

test('a crash between the data file and its token leaves a volume that can be created again', async (t) => {
  const directory = makeDirectory(t);
  await openDirectoryBackend(directory).close();
  writeFileSync(join(directory, 'volumes', 'data'), '');
  const next = openDirectoryBackend(directory);
  assert.equal((await next.open('data')).token, 0);
  await next.close();
});
