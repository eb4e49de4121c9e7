import assert from 'node:assert/strict';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { test } from 'node:test';
import { startCluster } from '@holdfast/cluster';
import { createSystemClock } from '@holdfast/platform';
import { runCommand } from '../run.ts';

test('get --json prints one document a line, -o json the same for people', async () => {
  const cluster = await startCluster({ clock: 'virtual', https: true });
  const folder = mkdtempSync(path.join(tmpdir(), 'holdfast-get-'));
  try {
    const kubeconfig = path.join(folder, 'kubeconfig');
    writeFileSync(kubeconfig, cluster.kubeconfig);
    const get = async (...argv: readonly string[]): Promise<readonly string[]> => {
      const out: string[] = [];
      const print = (line: string): void => void out.push(line);
      const env = { KUBECONFIG: kubeconfig };
      assert.equal(await runCommand('get', argv, { print, tell: print, env, clock: createSystemClock() }), 0);
      return out.join('\n').split('\n');
    };
    const lines = await get('ns/default', 'ns/kube-system', '--json');
    const names = lines.map(
      (line) => (JSON.parse(line) as { readonly metadata: { readonly name: string } }).metadata.name,
    );
    assert.deepEqual(names, ['default', 'kube-system']);
    assert.ok((await get('ns/default', '-o', 'json')).length > 1);
  } finally {
    await cluster.stop();
    rmSync(folder, { recursive: true, force: true });
  }
});
