import assert from 'node:assert/strict';
import { test } from 'node:test';
import { ENDPOINT_SLICES, type EndpointSlice, NODES, PODS, type Pod, SERVICES, type Service } from '@holdfast/api';
import fc from 'fast-check';
import { nameOf } from '../../common/meta.ts';
import { node, pod, readyStatus } from '../../testing/builders.ts';
import { createWorld, DrivenController, type World } from '../../testing/harness.ts';
import { decide } from './decide.ts';
import { endpointSliceController } from './index.ts';

const SERVICE: Service = {
  apiVersion: 'v1',
  kind: 'Service',
  metadata: { namespace: 'default', name: 'web', uid: 'service-uid', labels: { team: 'a' } },
  spec: {
    selector: { app: 'web' },
    clusterIP: '10.0.0.1',
    ipFamilies: ['IPv4'],
    ports: [{ name: 'http', port: 80, targetPort: 8080, protocol: 'TCP' }],
  },
  status: { loadBalancer: {} },
};
const withSpec = (spec: Partial<NonNullable<Service['spec']>>): Service => ({
  ...SERVICE,
  spec: { ...SERVICE.spec, ...spec },
});

const backend = (name: string, ip: string, change: { ready?: boolean; terminating?: boolean } = {}): Pod => {
  const { ready = true, terminating = false } = change;
  const status = ready ? readyStatus('2026-01-01T00:00:00Z') : { phase: 'Running' };
  const metadata = {
    name,
    uid: `uid-${name}`,
    labels: { app: 'web' },
    ...(terminating ? { deletionTimestamp: '2026-01-01T00:00:30Z' } : {}),
  };
  return pod(metadata, { ...status, podIP: ip, podIPs: [{ ip }] }, { nodeName: 'node-1' });
};

const noZone = (): undefined => undefined;
const only = (service: Service, pods: readonly Pod[], slices: readonly EndpointSlice[] = []) =>
  decide({
    service,
    pods,
    slices,
    isNameTaken: (name) => slices.some((each) => nameOf(each) === name),
    zoneOf: noZone,
  });

/** The slices after the actions were carried out. */
function applied(slices: readonly EndpointSlice[], actions: ReturnType<typeof decide>): readonly EndpointSlice[] {
  const byName = new Map(slices.map((slice) => [nameOf(slice), slice]));
  for (const { kind, slice } of actions) {
    if (kind === 'delete') byName.delete(nameOf(slice));
    else byName.set(nameOf(slice), slice);
  }
  return [...byName.values()];
}

test('[TERM-10] [TERM-11] [TERM-12] a terminating pod stays in the slice, not ready, with its serving state', () => {
  const pods = [
    backend('a', '10.1.0.1'),
    backend('b', '10.1.0.2', { terminating: true }),
    backend('c', '10.1.0.3', { terminating: true, ready: false }),
    backend('d', '10.1.0.4', { ready: false }),
  ];
  const [created] = only(SERVICE, pods);
  assert.deepEqual(
    created?.slice.endpoints.map(({ addresses, conditions }) => [addresses[0], conditions]),
    [
      ['10.1.0.1', { ready: true, serving: true, terminating: false }],
      ['10.1.0.2', { ready: false, serving: true, terminating: true }],
      ['10.1.0.3', { ready: false, serving: false, terminating: true }],
      ['10.1.0.4', { ready: false, serving: false, terminating: false }],
    ],
  );
  const [published] = only(withSpec({ publishNotReadyAddresses: true }), pods);
  assert.deepEqual(
    published?.slice.endpoints.map(({ conditions }) => conditions?.ready),
    [true, true, true, true],
  );
});

test('a slice contains its service, its ports and the location of each pod', () => {
  const [action] = decide({
    service: SERVICE,
    pods: [backend('a', '10.1.0.1')],
    slices: [],
    isNameTaken: () => false,
    zoneOf: () => 'z1',
  });
  assert.equal(action?.kind, 'create');
  const { slice } = action ?? assert.fail();
  assert.match(nameOf(slice), /^web-[a-z0-9]{5}$/);
  assert.deepEqual(slice.metadata.labels, {
    team: 'a',
    'endpointslice.kubernetes.io/managed-by': 'endpointslice-controller.k8s.io',
    'kubernetes.io/service-name': 'web',
  });
  assert.deepEqual(slice.ports, [{ name: 'http', port: 8080, protocol: 'TCP' }]);
  assert.deepEqual(slice.endpoints, [
    {
      addresses: ['10.1.0.1'],
      conditions: { ready: true, serving: true, terminating: false },
      nodeName: 'node-1',
      targetRef: { kind: 'Pod', namespace: 'default', name: 'a', uid: 'uid-a' },
      zone: 'z1',
    },
  ]);
  assert.deepEqual(only(withSpec({ clusterIP: 'None' }), [])[0]?.slice.metadata.labels, {
    ...slice.metadata.labels,
    'service.kubernetes.io/headless': '',
  });
});

test('PreferClose gives each ready endpoint its own zone as a hint, and takes it back', () => {
  const pods = [
    backend('a', '10.1.0.1'),
    backend('b', '10.1.0.2', { ready: false }),
    backend('c', '10.1.0.3', { terminating: true }),
  ];
  const inZone = (service: Service, zone: string | undefined, slices: readonly EndpointSlice[] = []) =>
    decide({ service, pods, slices, isNameTaken: () => false, zoneOf: () => zone });
  const hintsOf = (slice: EndpointSlice | undefined) => slice?.endpoints.map(({ hints }) => hints);
  const close = withSpec({ trafficDistribution: 'PreferClose' });
  const [created] = inZone(close, 'z1');
  const slice = created?.slice ?? assert.fail();
  assert.deepEqual(hintsOf(slice), [{ forZones: [{ name: 'z1' }] }, undefined, undefined]);
  assert.deepEqual(inZone(close, 'z1', [slice]), [], 'a second pass writes nothing');
  assert.deepEqual(inZone(close, undefined)[0]?.slice.endpoints, inZone(SERVICE, undefined)[0]?.slice.endpoints);
  const none = [undefined, undefined, undefined];
  for (const [key, value] of [
    ['service.kubernetes.io/topology-mode', 'Auto'],
    ['service.kubernetes.io/topology-aware-hints', 'auto'],
  ] as const) {
    const other = { ...close, metadata: { ...close.metadata, annotations: { [key]: value } } };
    assert.deepEqual(hintsOf(inZone(other, 'z1')[0]?.slice), none, key);
  }
  const [removed] = inZone(SERVICE, 'z1', [slice]);
  assert.deepEqual([removed?.kind, hintsOf(removed?.slice)], ['update', none]);
});

test('pods that serve a named port under different numbers are in different slices', () => {
  const named = (name: string, containerPort: number): Pod => {
    const base = backend(name, `10.1.0.${containerPort % 100}`);
    const ports = [{ name: 'web', containerPort, protocol: 'TCP' }];
    return { ...base, spec: { ...base.spec, containers: [{ name: 'c', image: 'i', resources: {}, ports }] } };
  };
  const service = withSpec({ ports: [{ name: 'http', port: 80, targetPort: 'web', protocol: 'TCP' }] });
  const actions = only(service, [named('a', 8001), named('b', 8002), named('c', 8001)]);
  assert.deepEqual(
    actions.map(({ slice }) => [slice.ports?.[0]?.port, slice.endpoints.map((each) => each.targetRef?.name)]),
    [
      [8001, ['a', 'c']],
      [8002, ['b']],
    ],
  );
});

test('[INIT-11] ports of init containers are not service ports', () => {
  const ports = [{ name: 'web', containerPort: 8001, protocol: 'TCP' }];
  const base = backend('a', '10.1.0.1');
  const initialises = {
    ...base,
    spec: { ...base.spec, initContainers: [{ name: 'i', image: 'i', resources: {}, ports }] },
  };
  const serves = { ...base, spec: { ...base.spec, containers: [{ name: 'c', image: 'i', resources: {}, ports }] } };
  const service = withSpec({ ports: [{ name: 'http', port: 80, targetPort: 'web', protocol: 'TCP' }] });
  const portsOf = (target: Pod) =>
    only(service, [target]).flatMap(({ slice }) => (slice.ports ?? []).map(({ port }) => port));
  assert.deepEqual([portsOf(serves), portsOf(initialises)], [[8001], []]);
  const [first] = initialises.spec.initContainers;
  const sidecar = { ...base, spec: { ...base.spec, initContainers: [{ ...first, restartPolicy: 'Always' }] } };
  assert.deepEqual(portsOf(sidecar as Pod), [8001], 'a sidecar serves');
});

test('a hundred endpoints fill a slice; the next one causes one new slice and no other write', () => {
  const pods = Array.from({ length: 100 }, (_, n) => backend(`p${n}`, `10.1.${n}.1`));
  const slices = applied([], only(SERVICE, pods));
  assert.equal(slices.length, 1);
  assert.deepEqual(only(SERVICE, pods, slices), []);
  const actions = only(SERVICE, [...pods, backend('one-more', '10.2.0.1')], slices);
  assert.deepEqual(
    actions.map(({ kind, slice }) => [kind, slice.endpoints.length]),
    [['create', 1]],
  );
});

test('a service without pods keeps one empty slice', () => {
  const [created, ...others] = only(SERVICE, []);
  assert.deepEqual([created?.kind, created?.slice.endpoints, others], ['create', [], []]);
  assert.deepEqual(only(SERVICE, [], [created?.slice ?? assert.fail()]), []);
});

test('both address families have their own slices, and a removed family loses them', () => {
  const dual: Pod = { ...backend('a', '10.1.0.1') };
  dual.status = { ...dual.status, podIPs: [{ ip: '10.1.0.1' }, { ip: 'fd00::1' }] };
  const actions = only(withSpec({ ipFamilies: ['IPv4', 'IPv6'] }), [dual]);
  assert.deepEqual(
    actions.map(({ slice }) => [slice.addressType, slice.endpoints[0]?.addresses]),
    [
      ['IPv4', ['10.1.0.1']],
      ['IPv6', ['fd00::1']],
    ],
  );
  const later = only(
    SERVICE,
    [dual],
    actions.map(({ slice }) => slice),
  );
  assert.deepEqual(
    later.map(({ kind, slice }) => [kind, slice.addressType]),
    [['delete', 'IPv6']],
  );
});

const sliceOf = (state: { readonly name: string; readonly ready: boolean; readonly terminating: boolean }): Pod =>
  backend(state.name, `10.9.${state.name.charCodeAt(0)}.${state.name.length}`, state);
const podStates = fc.uniqueArray(
  fc.record({
    name: fc.stringMatching(/^[a-z]{1,6}$/),
    ready: fc.boolean(),
    terminating: fc.boolean(),
  }),
  { selector: ({ name }) => name, maxLength: 260 },
);

test('with any changes of pods: every backend is in exactly one slice, no slice is too full, and a second pass writes nothing', () => {
  fc.assert(
    fc.property(podStates, podStates, (first, second) => {
      const before = applied([], only(SERVICE, first.map(sliceOf)));
      const pods = second.map(sliceOf);
      const after = applied(before, only(SERVICE, pods, before));
      const names = after.flatMap(({ endpoints }) => endpoints.map((endpoint) => endpoint.targetRef?.name));
      assert.deepEqual(new Set(names), new Set(second.map(({ name }) => name)));
      assert.equal(names.length, second.length);
      assert.ok(after.every(({ endpoints }) => endpoints.length <= 100));
      assert.deepEqual(only(SERVICE, pods, after), []);
    }),
    { numRuns: 40 },
  );
});

const serviceIn = (world: World): Service => world.api.put(SERVICES, SERVICE);
const names = (world: World): readonly (string | undefined)[] =>
  world.api.list(ENDPOINT_SLICES).flatMap(({ endpoints }) => endpoints.map(({ targetRef }) => targetRef?.name));

test('[TERM-09] [PROBE-09] [PROBE-14] the slices follow the pods, and changes that alter no endpoint cause no write', async () => {
  const world = createWorld();
  serviceIn(world);
  world.api.put(NODES, node('node-1', { labels: { 'topology.kubernetes.io/zone': 'west' } }));
  const controller = new DrivenController(world, endpointSliceController);
  await controller.settle();
  const web = world.api.put(PODS, backend('a', '10.1.0.1'));
  world.api.put(PODS, { ...backend('other', '10.1.0.9'), metadata: { namespace: 'default', name: 'other' } });
  await controller.settle();
  assert.deepEqual(names(world), ['a']);
  assert.equal(world.api.list(ENDPOINT_SLICES)[0]?.endpoints[0]?.zone, 'west');
  const writes = world.api.writes.length;
  world.api.put(PODS, { ...web, metadata: { ...web.metadata, annotations: { note: 'nothing' } } });
  await controller.settle();
  assert.equal(world.api.writes.length, writes);
  world.api.put(PODS, backend('a', '10.1.0.1', { ready: false }));
  await controller.settle();
  assert.equal(world.api.list(ENDPOINT_SLICES)[0]?.endpoints[0]?.conditions?.ready, false);
  world.api.put(PODS, backend('a', '10.1.0.1'));
  await controller.settle();
  world.api.put(PODS, backend('a', '10.1.0.1', { terminating: true }));
  await controller.settle();
  const conditions = { ready: false, serving: true, terminating: true };
  assert.deepEqual(world.api.list(ENDPOINT_SLICES)[0]?.endpoints[0]?.conditions, conditions, 'its kubelet still works');
  world.api.drop(PODS, { namespace: 'default', name: 'a' });
  await controller.settle();
  assert.deepEqual(names(world), []);
  assert.deepEqual(controller.errors, []);
});

test('two managers that both see no slice create one', async () => {
  const world = createWorld();
  serviceIn(world);
  world.api.put(PODS, backend('a', '10.1.0.1'));
  const caches = world.api.newInformers();
  const first = new DrivenController(world, endpointSliceController);
  caches.of(ENDPOINT_SLICES).freeze();
  const second = new DrivenController(world, endpointSliceController, caches);
  await first.settle();
  await second.settle();
  assert.deepEqual(names(world), ['a']);
  caches.of(ENDPOINT_SLICES).thaw();
  await second.settle();
  assert.equal(world.api.list(ENDPOINT_SLICES).length, 1);
});

test('a name collision with a foreign slice is avoided', async () => {
  const world = createWorld();
  serviceIn(world);
  const [wanted] = only(SERVICE, []);
  const name = nameOf(wanted?.slice ?? assert.fail());
  const metadata = { namespace: 'default', name };
  const foreign = { apiVersion: 'discovery.k8s.io/v1', kind: 'EndpointSlice', addressType: 'IPv4', endpoints: [] };
  world.api.put(ENDPOINT_SLICES, { ...foreign, metadata });
  world.api.put(PODS, backend('a', '10.1.0.1'));
  const controller = new DrivenController(world, endpointSliceController);
  await controller.settle();
  assert.deepEqual(names(world), ['a']);
  assert.deepEqual(world.api.get(ENDPOINT_SLICES, { namespace: 'default', name }).endpoints, []);
});
