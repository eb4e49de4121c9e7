import assert from 'node:assert/strict';
import { mkdirSync, mkdtempSync, rmSync } from 'node:fs';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import type { ApiClient } from '@holdfast/client';
import { createSilentLog, createSystemClock } from '@holdfast/platform';
import { eventually } from '@holdfast/platform/contract';
import { PluginRegistry, registrationDirectory } from './plugin-registry.ts';
import type { NodeDriver } from './port.ts';

async function listen(t: TestContext, path: string): Promise<() => void> {
  const server = createServer();
  await new Promise<void>((resolve) => server.listen(path, resolve));
  t.after(() => server.close());
  return () => server.close();
}

test('a plugin whose driver another one serves registers when that one is gone', async (t) => {
  const root = mkdtempSync(join(tmpdir(), 'holdfast-plugins-'));
  t.after(() => rmSync(root, { recursive: true, force: true }));
  const directory = registrationDirectory(root);
  mkdirSync(directory);
  const results: string[] = [];
  const node = { nodeId: 'machine-1', maxVolumes: 0, topology: {} };
  const client = {
    get: async () => ({ metadata: { name: 'n1', uid: 'u1' } }),
    find: async () => undefined,
    create: async () => undefined,
  } as unknown as ApiClient;
  const registry = new PluginRegistry({
    root,
    nodeName: 'n1',
    client,
    clock: createSystemClock(),
    log: createSilentLog(),
    onChange: () => {},
    open: async (socket) => {
      const file = socket.slice(directory.length + 1);
      return {
        driver: { name: 'disk', node, close: () => {} } as unknown as NodeDriver,
        confirm: async (error) => void results.push(`${file}: ${error ?? 'registered'}`),
      };
    },
  });
  t.after(() => registry.stop());
  const closeFirst = await listen(t, join(directory, 'first.sock'));
  registry.start();
  await eventually(() => results.length === 1, 'the first registers');
  await listen(t, join(directory, 'second.sock'));
  await eventually(() => results.length === 2, 'the second is refused');
  closeFirst();
  await eventually(() => results.length === 3, 'the second registers');
  assert.deepEqual(results, [
    'first.sock: registered',
    'second.sock: a driver "disk" is already registered',
    'second.sock: registered',
  ]);
});
