import assert from 'node:assert/strict';
import { test } from 'node:test';
import {
  ENDPOINT_SLICES,
  ENDPOINTS,
  type EndpointSlice,
  type EndpointSubset,
  type Endpoints,
  SERVICES,
  type Service,
} from '@holdfast/api';
import fc from 'fast-check';
import type { SliceAction } from '../../common/endpoint-slices.ts';
import { nameOf } from '../../common/meta.ts';
import { createWorld, DrivenController } from '../../testing/harness.ts';
import { decide, type MirrorSnapshot } from './decide.ts';
import { endpointSliceMirroringController } from './index.ts';

const NAME = { namespace: 'default', name: 'db' };
const SERVICE: Service = {
  apiVersion: 'v1',
  kind: 'Service',
  metadata: { ...NAME, uid: 'service-uid' },
  spec: { clusterIP: '10.0.0.1', ports: [{ port: 5432, protocol: 'TCP' }] },
  status: { loadBalancer: {} },
};
const endpoints = (subsets: EndpointSubset[], metadata: Endpoints['metadata'] = {}): Endpoints => ({
  apiVersion: 'v1',
  kind: 'Endpoints',
  metadata: { ...NAME, uid: 'endpoints-uid', ...metadata },
  subsets,
});
const PORTS = [{ name: 'sql', port: 5432, protocol: 'TCP' }];

const decided = (object: Endpoints, more: Partial<MirrorSnapshot> = {}) =>
  decide({ endpoints: object, service: SERVICE, slices: [], isNameTaken: () => false, ...more });

function applied(slices: readonly EndpointSlice[], actions: readonly SliceAction[]): readonly EndpointSlice[] {
  const byName = new Map(slices.map((slice) => [nameOf(slice), slice]));
  for (const { kind, slice } of actions) {
    if (kind === 'delete') byName.delete(nameOf(slice));
    else byName.set(nameOf(slice), slice);
  }
  return [...byName.values()];
}

test('a mirrored slice has the content of the user, its owner and its manager', () => {
  const object = endpoints(
    [
      {
        addresses: [{ ip: '192.0.2.1', nodeName: 'n', hostname: 'first' }],
        notReadyAddresses: [{ ip: '192.0.2.2' }],
        ports: PORTS,
      },
    ],
    {
      labels: { team: 'a', 'kubernetes.io/service-name': 'forged' },
      annotations: { note: 'mine', 'kubectl.kubernetes.io/last-applied-configuration': '{}' },
    },
  );
  const [action, ...others] = decided(object).actions;
  assert.deepEqual([action?.kind, others], ['create', []]);
  const { metadata, ...slice } = action?.slice ?? assert.fail();
  assert.match(metadata.name ?? '', /^db-[a-z0-9]{5}$/);
  assert.deepEqual(metadata.labels, {
    team: 'a',
    'endpointslice.kubernetes.io/managed-by': 'endpointslicemirroring-controller.k8s.io',
    'kubernetes.io/service-name': 'db',
  });
  assert.deepEqual(metadata.annotations, { note: 'mine' });
  assert.deepEqual(
    metadata.ownerReferences?.map(({ kind, uid, controller }) => [kind, uid, controller]),
    [['Endpoints', 'endpoints-uid', true]],
  );
  assert.deepEqual(slice, {
    apiVersion: 'discovery.k8s.io/v1',
    kind: 'EndpointSlice',
    addressType: 'IPv4',
    ports: PORTS,
    endpoints: [
      { addresses: ['192.0.2.1'], conditions: { ready: true }, hostname: 'first', nodeName: 'n' },
      { addresses: ['192.0.2.2'], conditions: { ready: false } },
    ],
  });
});

test('nothing is mirrored where another controller creates slices, or where the user disabled it', () => {
  const subsets = [{ addresses: [{ ip: '192.0.2.1' }], ports: PORTS }];
  const object = endpoints(subsets);
  const slices = applied([], decided(object).actions);
  const table: readonly [string, Endpoints, Service | undefined][] = [
    ['the service selects pods', object, { ...SERVICE, spec: { ...SERVICE.spec, selector: { app: 'db' } } }],
    ['there is no service', object, undefined],
    ['asked not to', endpoints(subsets, { labels: { 'endpointslice.kubernetes.io/skip-mirror': 'true' } }), SERVICE],
    [
      'a record of a leader',
      endpoints(subsets, { annotations: { 'control-plane.alpha.kubernetes.io/leader': '{}' } }),
      SERVICE,
    ],
  ];
  for (const [title, changed, service] of table) {
    assert.deepEqual(decided(changed, { service }).actions, [], title);
    assert.deepEqual(
      decided(changed, { service, slices }).actions.map(({ kind }) => kind),
      ['delete'],
      title,
    );
  }
});

test('an address that cannot be mirrored is omitted and reported', () => {
  const many = Array.from({ length: 1_002 }, (_, n) => ({ ip: `192.0.${Math.floor(n / 250)}.${n % 250}` }));
  const { actions, events } = decided(
    endpoints([{ addresses: [{ ip: 'no-address' }, ...many], notReadyAddresses: [{ ip: '192.0.9.1' }], ports: PORTS }]),
  );
  assert.equal(actions[0]?.slice.endpoints.length, 1_000);
  assert.deepEqual(
    events.map(({ reason, message }) => [reason, message]),
    [
      ['InvalidIPAddress', 'Skipped 1 invalid IP addresses when mirroring to EndpointSlices'],
      [
        'TooManyAddressesToMirror',
        'A max of 1000 addresses can be mirrored to EndpointSlices per Endpoints subset. 3 addresses were skipped',
      ],
    ],
  );
});

const ip = fc.oneof(
  fc.nat(250).map((n) => `192.0.2.${n}`),
  fc.nat(250).map((n) => `2001:db8::${n.toString(16)}`),
);
const subset = fc.record({
  addresses: fc.uniqueArray(ip, { maxLength: 20 }).map((ips) => ips.map((each) => ({ ip: each }))),
  ports: fc.nat(3).map((n) => [{ port: 80 + n, protocol: 'TCP' }]),
});
const subsets = fc.uniqueArray(subset, { maxLength: 4, selector: ({ ports }) => ports[0]?.port });

test('with any changed Endpoints: the slices match them exactly, and a second pass writes nothing', () => {
  const said = (slices: readonly EndpointSlice[]): readonly string[] =>
    slices
      .flatMap(({ ports, endpoints: each }) => each.map(({ addresses }) => `${ports?.[0]?.port} ${addresses.join()}`))
      .sort();
  fc.assert(
    fc.property(subsets, subsets, (first, second) => {
      const before = applied([], decided(endpoints(first)).actions);
      const isNameTaken = (name: string): boolean => before.some((slice) => nameOf(slice) === name);
      const after = applied(before, decided(endpoints(second), { slices: before, isNameTaken }).actions);
      const wanted = second.flatMap(({ addresses, ports }) =>
        addresses.map((address) => `${ports[0]?.port} ${address.ip}`),
      );
      assert.deepEqual(said(after), wanted.sort());
      assert.deepEqual(decided(endpoints(second), { slices: after }).actions, []);
    }),
  );
});

test('the mirror follows the object and its service, and causes no write without changes', async () => {
  const world = createWorld();
  const controller = new DrivenController(world, endpointSliceMirroringController);
  const ips = (): readonly string[] =>
    world.api.list(ENDPOINT_SLICES).flatMap((slice) => slice.endpoints.flatMap(({ addresses }) => addresses));
  world.api.put(ENDPOINTS, endpoints([{ addresses: [{ ip: '192.0.2.1' }], ports: PORTS }]));
  await controller.settle();
  assert.deepEqual(ips(), []);
  world.api.put(SERVICES, SERVICE);
  await controller.settle();
  assert.deepEqual(ips(), ['192.0.2.1']);
  world.api.put(ENDPOINTS, endpoints([{ addresses: [{ ip: '192.0.2.7' }], ports: PORTS }]));
  await controller.settle();
  assert.deepEqual(ips(), ['192.0.2.7']);
  const writes = world.api.writes.length;
  world.api.put(SERVICES, { ...SERVICE, metadata: { ...SERVICE.metadata, annotations: { a: 'b' } } });
  await controller.settle();
  assert.equal(world.api.writes.length, writes);
  for (const slice of world.api.list(ENDPOINT_SLICES))
    world.api.drop(ENDPOINT_SLICES, { ...NAME, name: nameOf(slice) });
  await controller.settle();
  assert.deepEqual(ips(), ['192.0.2.7'], 'a slice that somebody removed comes back');
  world.api.put(SERVICES, { ...SERVICE, spec: { ...SERVICE.spec, selector: { app: 'db' } } });
  await controller.settle();
  assert.deepEqual(ips(), []);
  assert.deepEqual(controller.errors, []);
});
