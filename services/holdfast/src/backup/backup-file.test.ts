import assert from 'node:assert/strict';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { test } from 'node:test';
import { parseTime } from '@holdfast/platform';
import { backupLines } from '@holdfast/store';
import { ageOf } from './age.ts';
import { readBackupFile, writeBackupFile } from './backup-file.ts';

const PIECE_BYTES = 7;

test('writing and reading a backup say how far they are, however it arrives in pieces', async (t) => {
  const folder = mkdtempSync(path.join(tmpdir(), 'holdfast-backup-'));
  t.after(() => rmSync(folder, { recursive: true, force: true }));
  const objects = ['a', 'b', 'c'].map((key) => ({ key, revision: 1, createRevision: 1, value: '{"x":1}' }));
  const text = Buffer.from([...backupLines({ objects, revision: 1 }, '2026-01-01T00:00:00Z')].join(''));
  async function* pieces(): AsyncGenerator<Uint8Array> {
    for (let at = 0; at < text.length; at += PIECE_BYTES) yield text.subarray(at, at + PIECE_BYTES);
  }
  const file = path.join(folder, 'backup');
  const written: [number, number | undefined][] = [];
  await writeBackupFile(file, pieces(), (done, total) => void written.push([done, total]));
  assert.deepEqual(written[0], [0, undefined]);
  assert.deepEqual(written.at(-1), [3, 3]);
  assert.deepEqual(
    written.map(([done]) => done),
    written.map(([done]) => done).toSorted((a, b) => a - b),
  );
  const read: [number, number | undefined][] = [];
  await readBackupFile(file, (done, total) => void read.push([done, total]));
  assert.deepEqual(read, [
    [0, 3],
    [1, 3],
    [2, 3],
    [3, 3],
    [3, 3],
  ]);
});

test('a value may have any character that JSON leaves as it is, and only a line feed ends a line', async (t) => {
  const folder = mkdtempSync(path.join(tmpdir(), 'holdfast-backup-'));
  t.after(() => rmSync(folder, { recursive: true, force: true }));
  const value = JSON.stringify({ text: 'a\u2028b\u2029c\u0085d\r\ne', emoji: '\u{1F980}'.repeat(20_000) });
  const object = { key: 'a', revision: 1, createRevision: 1, value };
  const text = [...backupLines({ objects: [object], revision: 1 }, '2026-01-01T00:00:00Z')].join('');
  const file = path.join(folder, 'backup');
  await writeBackupFile(
    file,
    (async function* () {
      yield Buffer.from(text);
    })(),
  );
  assert.deepEqual((await readBackupFile(file)).objects, [object]);
  writeFileSync(file, text.replaceAll('\n', '\r\n'));
  await assert.rejects(readBackupFile(file), { code: 'BackupDamaged' });
});

test('an old backup, or one of the future, is told with a caution', () => {
  const takenAt = '2026-01-02T00:00:00Z';
  const after = (hours: number) => ageOf(takenAt, (parseTime(takenAt) ?? 0) + hours * 3_600_000);
  assert.deepEqual(after(3), { text: 'taken 3h ago' });
  assert.deepEqual(after(0.001), { text: 'taken 3s ago' });
  assert.deepEqual(after(-0.01), { text: 'taken 0s ago' });
  assert.equal(after(72).text, 'taken 3d ago');
  assert.match(after(72).caution ?? '', /is 3d old: what was written since is missing/);
  assert.match(after(-2).caution ?? '', /in the future: check the clock/);
  assert.match(ageOf('yesterday', 0).caution ?? '', /does not say when/);
});
