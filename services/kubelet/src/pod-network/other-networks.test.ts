import assert from 'node:assert/strict';
import { once } from 'node:events';
import { createServer } from 'node:net';
import { test } from 'node:test';
import { createVirtualClock } from '@holdfast/platform/testing';
import { isOfMachine, reachOtherNetwork, refusalOf } from './other-networks.ts';

const INTERFACES = { lo: [{ address: '127.0.0.1' }], eth0: [{ address: '192.0.2.7' }, { address: '2001:db8::7' }] };

test('a pod connects to other networks, and never to this machine, its cluster or a group', () => {
  const networks = { clusterNetwork: '10.244.0.0/16', serviceNetwork: '10.96.0.0/12' };
  const may = (host: string): boolean => refusalOf(host, networks, INTERFACES) === '';
  for (const host of ['192.0.2.8', '8.8.8.8', '10.0.0.1', '10.245.0.1', '10.112.0.1', '172.17.0.9', '169.254.169.254'])
    assert.equal(may(host), true, host);
  for (const host of [
    '127.0.0.1',
    '127.96.0.10',
    '0.0.0.0',
    '0.1.2.3',
    '192.0.2.7',
    '10.244.7.9',
    '10.96.5.5',
    '10.111.255.254',
    '224.0.0.1',
    '255.255.255.255',
    '::1',
    '::ffff:127.0.0.1',
    'localhost',
    '',
  ])
    assert.equal(may(host), false, host);
});

test('a server on the loopback address of the machine is not reached', async (t) => {
  let connections = 0;
  const server = createServer(() => (connections += 1)).listen(0, '127.0.0.1');
  await once(server, 'listening');
  t.after(() => server.close());
  const address = server.address();
  assert.ok(typeof address === 'object' && address !== null);
  const deps = { clusterNetwork: '10.244.0.0/16', clock: createVirtualClock() };
  await assert.rejects(reachOtherNetwork(deps, { host: '127.0.0.1', port: address.port }), /not outside this cluster/);
  assert.equal(connections, 0);
});

test('an address of the machine that its interfaces do not list is not reached', async () => {
  const isUnlisted = async (host: string): Promise<boolean> => host === '198.51.100.1';
  const deps = { clusterNetwork: '10.244.0.0/16', clock: createVirtualClock(), isOfMachine: isUnlisted };
  await assert.rejects(reachOtherNetwork(deps, { host: '198.51.100.1', port: 80 }), /not outside this cluster/);
});

test('the kernel tells which addresses the machine has', async () => {
  // No interface lists the whole of 127.0.0.0/8.
  const hosts = ['127.0.0.1', '127.250.1.2', '198.51.100.1'];
  assert.deepEqual(await Promise.all(hosts.map((host) => isOfMachine(host))), [true, true, false]);
});
