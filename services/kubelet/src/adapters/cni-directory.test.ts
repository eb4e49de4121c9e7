import assert from 'node:assert/strict';
import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import type { ApiClient } from '@holdfast/client';
import { createSilentLog, nextTurn } from '@holdfast/platform';
import { createVirtualClock } from '@holdfast/platform/testing';
import { CNI_FILE, CNI_PLUGINS_NEEDED } from '../domain/cni-configuration.ts';
import { CNI_NETWORK_RETRY_MS } from '../limits.ts';
import { createCniDirectory } from './cni-directory.ts';

function rig(t: TestContext, { plugins = CNI_PLUGINS_NEEDED, isRemovedAtStop = true }: Partial<Rig> = {}) {
  const directory = mkdtempSync(join(tmpdir(), 'holdfast-cni-'));
  t.after(() => rmSync(directory, { recursive: true, force: true }));
  for (const name of plugins) writeFileSync(join(directory, name), '');
  const did: string[] = [];
  const clock = createVirtualClock();
  const networks = new Map<string, readonly string[]>();
  const client = {
    get: async (_: unknown, { name }: { readonly name: string }) => {
      const podCIDRs = networks.get(name);
      return { metadata: { name }, spec: podCIDRs === undefined ? {} : { podCIDRs } };
    },
  } as unknown as ApiClient;
  const cni = createCniDirectory({
    directory,
    clock,
    log: createSilentLog(),
    nodes: ['one', 'two'].map((name) => ({ name, client })),
    isRemovedAtStop,
    pluginDirectories: [directory],
    removeBridge: async () => void did.push('bridge removed'),
  });
  const file = join(directory, CNI_FILE);
  const settle = async (): Promise<void> => {
    for (let i = 0; i < 20; i++) await nextTurn();
  };
  return { did, cni, clock, directory, networks, file, settle };
}

interface Rig {
  readonly plugins: readonly string[];
  readonly isRemovedAtStop: boolean;
}

test('the network is configured when all nodes have networks, and ends with the cluster', async (t) => {
  const { did, cni, clock, networks, file, settle, directory } = rig(t);
  networks.set('one', ['10.244.1.0/24']);
  await cni.start();
  await settle();
  assert.equal(existsSync(file), false);
  networks.set('two', ['10.244.2.0/24']);
  await clock.advance(CNI_NETWORK_RETRY_MS);
  await settle();
  const text = readFileSync(file, 'utf8');
  for (const address of ['10.244.1.1', '10.244.2.254']) assert.ok(text.includes(`"${address}"`), address);
  await cni.stop();
  assert.deepEqual(readdirSync(directory).toSorted(), [...CNI_PLUGINS_NEEDED].toSorted());
  assert.deepEqual(did, ['bridge removed']);
  assert.equal(clock.pendingTimers(), 0);
});

test('a node whose pods outlive it leaves the configuration in place', async (t) => {
  const { did, cni, networks, file, settle } = rig(t, { isRemovedAtStop: false });
  for (const node of ['one', 'two']) networks.set(node, ['10.244.1.0/24']);
  await cni.start();
  await settle();
  await cni.stop();
  assert.equal(existsSync(file), true);
  assert.deepEqual(did, []);
});

test('the configuration of a site is left alone', async (t) => {
  const { cni, networks, directory, file, settle } = rig(t);
  for (const node of ['one', 'two']) networks.set(node, ['10.244.1.0/24']);
  writeFileSync(join(directory, '05-site.conf'), 'theirs');
  await cni.start();
  await settle();
  assert.equal(existsSync(file), false);
  await cni.stop();
  assert.equal(readFileSync(join(directory, '05-site.conf'), 'utf8'), 'theirs');
});

test('without the plugins the start ends with what to install', async (t) => {
  const { cni } = rig(t, { plugins: ['bridge'] });
  await assert.rejects(cni.start(), /host-local, portmap, loopback are not installed/);
});
