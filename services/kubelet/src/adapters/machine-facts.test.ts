import assert from 'node:assert/strict';
import { tmpdir } from 'node:os';
import { test } from 'node:test';
import { addressAmong, readMachineFacts, shareOf } from './machine-facts.ts';

test('nodes of one machine report its full capacity and an equal share as allocatable', () => {
  const capacity = { cpu: '2', memory: '4000Ki', 'ephemeral-storage': '100Ki', pods: '110' };
  assert.deepEqual(shareOf(capacity, 3), { cpu: '666m', memory: '1333Ki', 'ephemeral-storage': '33Ki', pods: '110' });
  assert.deepEqual(shareOf(capacity, 1), capacity);
  const one = readMachineFacts({ name: 'n1', stateDirectory: tmpdir() });
  const ofTwo = readMachineFacts({ name: 'n1', stateDirectory: tmpdir(), sharedBy: 2 });
  assert.deepEqual(one.allocatable, one.capacity);
  assert.deepEqual(ofTwo.capacity, one.capacity);
  assert.ok(
    Number.parseInt(ofTwo.allocatable['memory'] ?? '', 10) * 2 <= Number.parseInt(one.capacity['memory'] ?? '', 10),
  );
});

test('nodes of containers are Linux on every system, those of processes are what the machine is', () => {
  const osOf = (hasContainers: boolean): string =>
    readMachineFacts({ name: 'n1', stateDirectory: tmpdir(), system: 'darwin', hasContainers }).nodeInfo
      .operatingSystem;
  assert.deepEqual([osOf(true), osOf(false)], ['linux', 'darwin']);
});

test('the address of the machine is one that others reach, not that of a link between two', () => {
  const at = (address: string, family: 'IPv4' | 'IPv6' = 'IPv4', internal = false) => [{ address, family, internal }];
  const lo = at('127.0.0.1', 'IPv4', true);
  assert.equal(addressAmong({ lo, 'hf-1': at('169.254.244.6'), eth0: at('172.18.0.4') }), '172.18.0.4');
  assert.equal(addressAmong({ lo, eth0: [...at('fe80::1', 'IPv6'), ...at('fd00::1', 'IPv6')] }), 'fd00::1');
  assert.equal(addressAmong({ lo, 'hf-1': at('169.254.244.6') }), '127.0.0.1');
});
