import assert from 'node:assert/strict';
import { test } from 'node:test';
import { readStartConfig } from './config.ts';

for (const { argv, expected } of [
  { argv: [], expected: true },
  { argv: ['--nodes', '0'], expected: false },
  { argv: ['--nodes', '0', '--hollow-nodes', '2'], expected: false },
  { argv: ['--nodes', '0', '--default-storage-class', 'standard'], expected: true },
  { argv: ['--default-storage-class', 'none'], expected: false },
]) {
  test(`a cluster of [${argv.join(' ')}] ${expected ? 'gets' : 'does not get'} the default storage class`, () => {
    assert.equal(readStartConfig({ argv, env: {} }).defaultStorageClass, expected);
  });
}

test('a cluster of one process keeps a history of an hour, unless it is told not to', () => {
  assert.equal(readStartConfig({ argv: [], env: {} }).history?.retentionMs, 3_600_000);
  assert.equal(readStartConfig({ argv: ['--history-retention', '0s'], env: {} }).history, undefined);
});

test('CSI drivers of an embedded cluster are named with their sockets', () => {
  assert.deepEqual(readStartConfig({ argv: [], env: {} }).csiDrivers, []);
  const argv = ['--csi-drivers', 'disk.example=/run/disk.sock,b.example=unix:///run/b.sock'];
  assert.deepEqual(readStartConfig({ argv, env: {} }).csiDrivers, [
    { name: 'disk.example', socket: '/run/disk.sock' },
    { name: 'b.example', socket: '/run/b.sock' },
  ]);
  assert.throws(
    () => readStartConfig({ argv: ['--csi-drivers', 'disk'], env: {} }),
    /--csi-drivers cannot be read: "disk"/,
  );
});

test('a cluster on virtual time is simulated and in memory; what lives on real time is refused', () => {
  const read = (...argv: string[]) => readStartConfig({ argv: ['--clock=virtual', ...argv], env: {} });
  const { nodes, hollowNodes, store, defaultStorageClass } = read('--play');
  assert.deepEqual({ nodes, hollowNodes, store: store.kind, defaultStorageClass }, EXPECTED_VIRTUAL);
  assert.equal(read('--play', '--hollow-nodes', '7', '--nodes', '0').hollowNodes, 7);
  assert.throws(() => read(), /needs --play/);
  assert.throws(() => read('--play', '--nodes', '1'), /simulated pods alone/);
  assert.throws(() => read('--play', '--store', 'redis://h:1'), /server of --store/);
  assert.throws(() => read('--play', '--bus', 'nats://h:1'), /server of --bus/);
  assert.equal(readStartConfig({ argv: [], env: {} }).nodes, 1);
});

const EXPECTED_VIRTUAL = { nodes: 0, hollowNodes: 3, store: 'memory', defaultStorageClass: false };
