import assert from 'node:assert/strict';
import { test } from 'node:test';
import { cidrContains, type Node, parseCidr } from '@holdfast/api';
import fc from 'fast-check';
import { decideRoutes, type RoutePlace } from './decide-routes.ts';

const PLACE: RoutePlace = { nodeName: 'a', clusterNetwork: '10.244.0.0/16', serviceNetwork: '10.96.0.0/12' };

interface Sketch {
  readonly name: string;
  readonly network?: string;
  readonly address?: string;
  /** Seconds. */
  readonly born?: number;
}

const node = ({ name, network, address, born = 0 }: Sketch): Node =>
  ({
    apiVersion: 'v1',
    kind: 'Node',
    metadata: { name, creationTimestamp: `2026-01-01T00:00:${String(born).padStart(2, '0')}Z` },
    spec: network === undefined ? {} : { podCIDR: network, podCIDRs: [network] },
    status: { addresses: address === undefined ? [] : [{ type: 'InternalIP', address }] },
  }) as unknown as Node;

const decide = (...sketches: readonly Sketch[]) => decideRoutes(sketches.map(node), PLACE);

test('each other node has a route to its pods by way of its address', () => {
  const { routes, refused } = decide(
    { name: 'a', network: '10.244.0.0/24', address: '172.18.0.2' },
    { name: 'b', network: '10.244.1.0/24', address: '172.18.0.3' },
    { name: 'new' },
  );
  assert.deepEqual(routes, [{ node: 'b', network: '10.244.1.0/24', via: '172.18.0.3' }]);
  assert.deepEqual(refused, []);
});

test('a claim that takes something from others does not count, and the reason is told', () => {
  const own: Sketch = { name: 'a', network: '10.244.0.0/24', address: '172.18.0.2' };
  for (const [network, address, reason] of [
    ['10.244.0.0/16', '172.18.0.9', /not a part of 10\.244\.0\.0\/16/],
    ['10.0.0.0/8', '172.18.0.9', /not a part of/],
    ['192.168.0.0/24', '172.18.0.9', /not a part of/],
    ['10.244.0.128/25', '172.18.0.9', /belongs to node a/],
    ['10.244.0.0/23', '172.18.0.9', /belongs to node a/],
    ['10.244.9.7/24', '172.18.0.9', /not one of IPv4/],
    ['nonsense', '172.18.0.9', /not one of IPv4/],
    ['10.244.9.0/24', '10.244.0.5', /lies in 10\.244\.0\.0\/16/],
    ['10.244.9.0/24', '10.96.0.10', /lies in 10\.96\.0\.0\/12/],
    ['10.244.9.0/24', '127.0.0.1', /lies in 127/],
    ['10.244.9.0/24', '169.254.244.6', /lies in 169/],
    ['10.244.9.0/24', 'fd00::1', /no address of IPv4/],
  ] as const) {
    const { routes, refused } = decide(own, { name: 'evil', network, address, born: 1 });
    assert.deepEqual(routes, [], network);
    assert.match(refused[0]?.reason ?? '', reason, `${network} ${address}`);
  }
});

const sketches = fc.uniqueArray(
  fc.record({
    name: fc.constantFrom('a', 'b', 'c', 'd', 'e', 'f'),
    network: fc.oneof(
      fc.tuple(fc.nat(3), fc.integer({ min: 14, max: 26 })).map(([third, bits]) => `10.244.${third * 4}.0/${bits}`),
      fc.constantFrom('10.9.0.0/24', '0.0.0.0/0', '10.244.1.0/24', 'fd00::/64', ''),
    ),
    address: fc.constantFrom('172.18.0.2', '172.18.0.3', '10.244.4.4', '10.96.0.1', '0.0.0.0', '255.255.255.255', 'x'),
    born: fc.nat(3),
  }),
  { selector: ({ name }) => name, maxLength: 6 },
);

const overlap = (one: string, other: string): boolean => {
  const [a, b] = [parseCidr(one), parseCidr(other)];
  assert.ok(a !== undefined && b !== undefined);
  return cidrContains(a, b) || cidrContains(b, a);
};

test('whatever nodes write: routes lie in the network of pods, no two overlap, and none leads to this node', () => {
  fc.assert(
    fc.property(sketches, (all) => {
      const { routes } = decide(...all);
      for (const { node: name, network, via } of routes) {
        assert.notEqual(name, PLACE.nodeName);
        assert.ok(overlap(network, PLACE.clusterNetwork) && Number(network.split('/')[1]) > 16, network);
        assert.match(via, /^172\.18\./);
        assert.ok(routes.every((other) => other.node === name || !overlap(other.network, network)));
      }
    }),
  );
});

test('whatever a younger node writes: it changes no route to the pods of older ones, on no node', () => {
  const younger = fc.record({
    network: fc.constantFrom('10.244.0.0/15', '10.244.4.0/24', '10.244.0.0/17', '10.244.8.0/22'),
  });
  fc.assert(
    fc.property(sketches, younger, fc.constantFrom('a', 'b', 'z'), (all, { network }, nodeName) => {
      const place = { ...PLACE, nodeName };
      const before = decideRoutes(all.map(node), place);
      const evil = node({ name: 'evil', network, address: '172.18.0.66', born: 50 });
      const after = decideRoutes([evil, ...all.map(node)], place);
      assert.deepEqual(
        after.routes.filter(({ node: name }) => name !== 'evil'),
        before.routes,
      );
    }),
  );
});
