import assert from 'node:assert/strict';
import { mkdtempSync, readdirSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { type TestContext, test } from 'node:test';
import { parseIncarnation } from '@holdfast/api';
import { createIds, createSeededRandom } from '@holdfast/platform';
import { boundRecord, readIncarnation } from './incarnation.ts';

const ids = createIds(createSeededRandom(1, 'incarnation'));

function folder(t: TestContext): string {
  const made = mkdtempSync(path.join(tmpdir(), 'holdfast-incarnation-'));
  t.after(() => rmSync(made, { recursive: true, force: true }));
  return made;
}

test('a restarted kubelet of a machine is the same incarnation; another disk has another key', (t) => {
  const disk = folder(t);
  const first = readIncarnation(disk, ids);
  assert.equal(readIncarnation(disk, ids), first);
  const [one, other] = [first, readIncarnation(folder(t), ids)].map(parseIncarnation);
  assert.ok(one !== undefined && other !== undefined);
  assert.notEqual(one.key, other.key);
  assert.deepEqual([one.machine, one.boot], [other.machine, other.boot]);
});

test('only the owner can read the key, and a truncated key is created anew', (t) => {
  const disk = folder(t);
  const first = readIncarnation(disk, ids);
  const file = 'incarnation-key';
  assert.equal(statSync(path.join(disk, file)).mode & 0o077, 0);
  writeFileSync(path.join(disk, file), first.slice(0, 10));
  assert.notEqual(readIncarnation(disk, ids), first);
});

test('the next kubelet of the machine reads the bound incarnation', (t) => {
  const disk = folder(t);
  assert.equal(boundRecord(disk).read(), undefined);
  boundRecord(disk).write('k/m/b-1');
  boundRecord(disk).write('k/m/b-2');
  assert.equal(boundRecord(disk).read(), 'k/m/b-2');
  assert.equal(readdirSync(disk).length, 1);
});

test('a kubelet that now runs as root is on the same machine; one that always ran as root distinguishes clones', (t) => {
  const machineOn = (disk: string, firmware: readonly string[]): string | undefined =>
    parseIncarnation(readIncarnation(disk, ids, () => firmware))?.machine;
  const disk = folder(t);
  const asUser = machineOn(disk, []);
  assert.equal(machineOn(disk, ['uuid-1']), asUser);
  const ofRoot = folder(t);
  const asRoot = machineOn(ofRoot, ['uuid-1']);
  assert.equal(machineOn(ofRoot, ['uuid-1']), asRoot);
  assert.notEqual(machineOn(ofRoot, ['uuid-2']), asRoot);
});
