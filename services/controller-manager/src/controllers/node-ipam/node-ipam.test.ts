import assert from 'node:assert/strict';
import { test } from 'node:test';
import { cidrContains, NODES, type Node, parseCidr } from '@holdfast/api';
import fc from 'fast-check';
import { node } from '../../testing/builders.ts';
import { createWorld, DrivenController, type World } from '../../testing/harness.ts';
import { type ClusterNetwork, readClusterNetwork } from './cluster-network.ts';
import { nodeIpamController } from './index.ts';
import { NodeNetworks } from './node-networks.ts';

function cluster(text: string, mask: number): ClusterNetwork {
  const read = readClusterNetwork(text, mask);
  if (typeof read === 'string') throw new Error(read);
  return read;
}

const overlap = (a: string, b: string): boolean => {
  const [one, two] = [parseCidr(a), parseCidr(b)];
  assert.ok(one !== undefined && two !== undefined);
  return cidrContains(one, two) || cidrContains(two, one);
};

const networksIn = ({ api }: World): readonly (readonly string[])[] =>
  api.list(NODES).map(({ spec }) => spec.podCIDRs ?? []);

test('invalid cluster networks are refused with the reason', () => {
  for (const [text, mask] of [
    ['10.244.0.0', 24],
    ['10.244.1.0/16', 24],
    ['10.244.0.0/16', 15],
    ['10.244.0.0/16', 31],
    ['10.0.0.0/8', 25],
    ['fd00::/48', 112],
  ] as const)
    assert.equal(typeof readClusterNetwork(text, mask), 'string', `${text} ${mask}`);
});

test('with any history of nodes: free networks overlap with none that is held, and all can be used', () => {
  const families = [cluster('10.244.0.0/22', 24), cluster('10.0.0.128/25', 27), cluster('fd00:1::/62', 64)];
  const commands = fc.array(fc.tuple(fc.nat(7), fc.boolean()), { maxLength: 60 });
  fc.assert(
    fc.property(fc.constantFrom(...families), commands, (family, steps) => {
      const pool = new NodeNetworks(family);
      const held = new Map<string, string>();
      for (const [number, isNew] of steps) {
        const name = `node-${number}`;
        if (!isNew) {
          pool.release(name);
          held.delete(name);
          continue;
        }
        if (held.has(name)) continue;
        const network = pool.free();
        if (network === undefined) {
          assert.equal(held.size, 4);
          continue;
        }
        assert.deepEqual(
          [...held.values()].filter((other) => overlap(other, network)),
          [],
        );
        pool.hold(name, [network]);
        held.set(name, network);
      }
    }),
  );
});

test('networks that users wrote are left out, whatever their size', () => {
  const pool = new NodeNetworks(cluster('10.244.0.0/22', 24));
  pool.hold('large', ['10.244.0.0/23']);
  pool.hold('small', ['10.244.2.64/28']);
  pool.hold('elsewhere', ['10.9.0.0/16', 'nonsense']);
  assert.equal(pool.free(), '10.244.3.0/24');
  pool.hold('all', ['10.0.0.0/8']);
  assert.equal(pool.free(), undefined);
  pool.release('all');
  pool.release('small');
  assert.deepEqual([pool.free(), pool.free()], ['10.244.2.0/24', '10.244.3.0/24']);
});

test('every node gets a network of each family, and no two nodes the same', async () => {
  const world = createWorld();
  for (let i = 0; i < 5; i++) world.api.put(NODES, node(`n${i}`));
  const clusterNetworks = [cluster('10.244.0.0/16', 24), cluster('fd00:10:244::/56', 64)];
  const controller = new DrivenController(world, nodeIpamController({ clusterNetworks }));
  await controller.settle();
  const given = networksIn(world);
  assert.deepEqual(given[0], ['10.244.0.0/24', 'fd00:10:244::/64']);
  assert.equal(new Set(given.flat()).size, 10);
  assert.equal(world.api.list(NODES)[0]?.spec.podCIDR, '10.244.0.0/24');
  assert.equal(world.api.writes.length, 5);
  assert.deepEqual(controller.errors, []);
});

test('a restarted controller keeps the networks of nodes; a new node gets one that was freed', async () => {
  const world = createWorld();
  const definition = nodeIpamController({ clusterNetworks: [cluster('10.244.0.0/23', 24)] });
  const taken = (name: string, podCIDR: string): Node => ({ ...node(name), spec: { podCIDR, podCIDRs: [podCIDR] } });
  world.api.put(NODES, taken('a', '10.244.0.0/24'));
  world.api.put(NODES, taken('b', '10.244.1.0/24'));
  const controller = new DrivenController(world, definition);
  await controller.settle();
  assert.equal(world.api.writes.length, 0);
  world.api.put(NODES, node('c'));
  await controller.settle();
  assert.deepEqual(world.api.get(NODES, { name: 'c' }).spec, {});
  assert.deepEqual(
    world.api.events.map(({ about, reason }) => [about, reason]),
    [['c', 'CIDRNotAvailable']],
  );
  world.api.drop(NODES, { name: 'a' });
  world.clock.skip(3_600_000);
  await controller.settle();
  assert.equal(world.api.get(NODES, { name: 'c' }).spec.podCIDR, '10.244.0.0/24');
});
