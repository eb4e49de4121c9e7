import assert from 'node:assert/strict';
import { appendFileSync, mkdtempSync, readFileSync, rmSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { podOf } from '../testing/pod-world.ts';
import { containerFiles } from './container-files.ts';

test('a pod with a new address finds it in /etc/hosts, which stays the same file', async (t) => {
  const path = mkdtempSync(join(tmpdir(), 'holdfast-container-files-'));
  t.after(() => rmSync(path, { recursive: true }));
  const pod = podOf({});
  const container = pod.spec.containers[0] ?? assert.fail('it has a container');
  const dns = { domain: 'cluster.local', servers: [] };
  const hostsAt = async (podIp: string): Promise<string> => {
    const files = await containerFiles({ pod, container, restartCount: 0, podIp, path, nodeHostname: 'n', dns });
    return files.find(({ target }) => target === '/etc/hosts')?.source ?? assert.fail('it has the file');
  };
  const file = await hostsAt('10.0.0.11');
  assert.match(readFileSync(file, 'utf8'), /^10\.0\.0\.11\tp$/m);
  const { ino } = statSync(file);
  for (const address of ['10.0.0.12', '10.0.0.3']) {
    appendFileSync(file, 'more\n');
    assert.equal(await hostsAt(address), file);
    const text = readFileSync(file, 'utf8');
    assert.match(text, new RegExp(`^${address}\\tp$`, 'm'));
    assert.doesNotMatch(text, /10\.0\.0\.11|more/);
  }
  assert.equal(statSync(file).ino, ino, 'containers hold the file, not its name');
});
