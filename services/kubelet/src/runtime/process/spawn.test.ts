import assert from 'node:assert/strict';
import { existsSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { containerConfig, sandboxConfig } from '../contract.ts';
import { RuntimeError } from '../port.ts';
import type { NodeIsolation } from './node-isolation.ts';
import { spawnContainer } from './spawn.ts';

test('[SAFE-32] a container whose deadline passes while its volumes are looked at does not start', async (t) => {
  const directory = mkdtempSync(join(tmpdir(), 'holdfast-spawn-'));
  t.after(() => rmSync(directory, { recursive: true, force: true }));
  let isLate = false;
  const started = spawnContainer({
    containerId: 'c',
    config: containerConfig(['/bin/touch', join(directory, 'ran')], { workingDir: directory }),
    sandbox: sandboxConfig('u1'),
    workPath: join(directory, 'work'),
    rootPath: join(directory, 'root'),
    logPath: join(directory, 'log'),
    node: (): NodeIsolation => assert.fail('it has no view of its own'),
    views: {
      writeScript: () => assert.fail('it has no view of its own'),
      isDirectory: async () => {
        isLate = true;
        return true;
      },
    },
    assertMayStart: () => {
      if (isLate) throw new RuntimeError('Fenced', 'too late');
    },
  });
  await assert.rejects(started, { code: 'Fenced' });
  assert.equal(existsSync(join(directory, 'ran')), false);
});
