import assert from 'node:assert/strict';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { test } from 'node:test';
import { nextCommand } from './next-command.ts';

test('the suggested command exists on this machine: kubectl, or the bundled client', (t) => {
  const folder = mkdtempSync(path.join(tmpdir(), 'holdfast-next-'));
  t.after(() => rmSync(folder, { recursive: true, force: true }));
  const searchPath = ['/nowhere', '', folder].join(path.delimiter);
  const ours = 'npm run -s holdfast -- get pods -A --kubeconfig /data/kubeconfig';
  assert.equal(nextCommand('/data/kubeconfig', searchPath), ours);
  assert.equal(nextCommand('/data/kubeconfig'), ours);
  writeFileSync(path.join(folder, 'kubectl'), '');
  assert.equal(nextCommand('/data/kubeconfig', searchPath), 'kubectl --kubeconfig /data/kubeconfig get pods -A');
});
