import assert from 'node:assert/strict';
import { test } from 'node:test';
import { ENDPOINTS, type Endpoints, PODS, type Pod, SERVICES, type Service } from '@holdfast/api';
import fc from 'fast-check';
import { compareText, nameOf } from '../../common/meta.ts';
import { pod, readyStatus } from '../../testing/builders.ts';
import { createWorld, DrivenController } from '../../testing/harness.ts';
import { decide } from './decide.ts';
import { endpointsController } from './index.ts';

const SERVICE: Service = {
  apiVersion: 'v1',
  kind: 'Service',
  metadata: { namespace: 'default', name: 'web', uid: 'service-uid', labels: { team: 'a' } },
  spec: {
    selector: { app: 'web' },
    clusterIP: '10.0.0.1',
    ipFamilies: ['IPv4'],
    ports: [
      { name: 'http', port: 80, targetPort: 8080, protocol: 'TCP' },
      { name: 'admin', port: 81, targetPort: 'admin', protocol: 'TCP' },
    ],
  },
  status: { loadBalancer: {} },
};

const backend = (name: string, ip: string, ready = true): Pod =>
  pod(
    { name, uid: `uid-${name}`, labels: { app: 'web' } },
    { ...(ready ? readyStatus('2026-01-01T00:00:00Z') : { phase: 'Running' }), podIP: ip, podIPs: [{ ip }] },
    { nodeName: 'node-1' },
  );

const withAdmin = (base: Pod): Pod => ({
  ...base,
  spec: {
    containers: [
      { name: 'c', image: 'i', resources: {}, ports: [{ name: 'admin', containerPort: 9, protocol: 'TCP' }] },
    ],
    nodeName: 'node-1',
  },
});

const address = (name: string, ip: string) => ({
  ip,
  nodeName: 'node-1',
  targetRef: { kind: 'Pod', namespace: 'default', name, uid: `uid-${name}` },
});

test('ready and not ready addresses are separate, and ports with the same addresses share a subset', () => {
  const action = decide(
    SERVICE,
    [withAdmin(backend('a', '10.1.0.1')), withAdmin(backend('b', '10.1.0.2', false))],
    undefined,
  );
  assert.deepEqual(action.kind === 'create' && action.endpoints.subsets, [
    {
      addresses: [address('a', '10.1.0.1')],
      notReadyAddresses: [address('b', '10.1.0.2')],
      ports: [
        { name: 'admin', port: 9, protocol: 'TCP' },
        { name: 'http', port: 8080, protocol: 'TCP' },
      ],
    },
  ]);
  assert.deepEqual(action.kind === 'create' && action.endpoints.metadata.labels, { team: 'a' });
});

test('a pod without the named port is listed only for the ports it serves', () => {
  const action = decide(SERVICE, [withAdmin(backend('a', '10.1.0.1')), backend('b', '10.1.0.2')], undefined);
  assert.deepEqual(
    action.kind === 'create' &&
      action.endpoints.subsets?.map(({ addresses, ports }) => [addresses?.map(({ ip }) => ip), ports?.[0]?.name]),
    [
      [['10.1.0.1'], 'admin'],
      [['10.1.0.1', '10.1.0.2'], 'http'],
    ],
  );
});

test('a headless service without ports lists its pods, and their hostnames', () => {
  const named = { ...backend('a', '10.1.0.1') };
  named.spec = { ...(named.spec ?? { containers: [] }), hostname: 'first', subdomain: 'web' };
  const { ports: _none, ...spec } = SERVICE.spec ?? {};
  const action = decide({ ...SERVICE, spec: { ...spec, clusterIP: 'None' } }, [named], undefined);
  assert.deepEqual(action.kind === 'create' && action.endpoints.subsets, [
    { addresses: [{ ...address('a', '10.1.0.1'), hostname: 'first' }] },
  ]);
});

test('more than a thousand addresses are truncated, not ready ones first, with an annotation', () => {
  const pods = Array.from({ length: 1_100 }, (_, n) =>
    backend(`p${n}`, `10.1.${Math.floor(n / 250)}.${n % 250}`, n % 2 === 0),
  );
  const service = { ...SERVICE, spec: { ...SERVICE.spec, ports: [{ port: 80, protocol: 'TCP' }] } };
  const action = decide(service, pods, undefined);
  assert.ok(action.kind === 'create');
  const [subset] = action.endpoints.subsets ?? [];
  assert.deepEqual([subset?.addresses?.length, subset?.notReadyAddresses?.length], [550, 450]);
  assert.deepEqual(action.endpoints.metadata.annotations, { 'endpoints.kubernetes.io/over-capacity': 'truncated' });
  const { kind } = decide(service, pods.slice(0, 10), action.endpoints);
  assert.equal(kind, 'update');
});

const backends = fc
  .uniqueArray(
    fc.record({
      name: fc.stringMatching(/^[a-z]{1,4}$/),
      ready: fc.boolean(),
      admin: fc.boolean(),
      hasIp: fc.boolean(),
    }),
    { selector: ({ name }) => name, maxLength: 12 },
  )
  .map((states) =>
    states.map(({ name, ready, admin, hasIp }, i) => {
      const base = hasIp ? backend(name, `10.1.0.${i}`, ready) : pod({ name, uid: `uid-${name}` });
      return { ready, hasIp, admin, pod: admin ? withAdmin(base) : base };
    }),
  );
const written = (pods: readonly Pod[], stored: Endpoints | undefined, service = SERVICE): Endpoints | undefined => {
  const action = decide(service, pods, stored);
  return action.kind === 'none' ? stored : action.endpoints;
};
/** Returns the listed addresses of a port, in one of the two lists. */
const listed = (endpoints: Endpoints | undefined, port: string, list: 'addresses' | 'notReadyAddresses') =>
  (endpoints?.subsets ?? [])
    .filter(({ ports }) => ports?.some(({ name }) => name === port))
    .flatMap((subset) => subset[list] ?? [])
    .map(({ targetRef }) => targetRef?.name);

test('with any changes of pods: each is listed once for every port it serves, in any order, foreign annotations stay, and a second pass writes nothing', () => {
  const both = fc
    .tuple(backends, backends)
    .chain(([first, second]) =>
      fc.tuple(fc.constant(first), fc.constant(second), fc.shuffledSubarray(second, { minLength: second.length })),
    );
  const podsOf = (some: readonly { readonly pod: Pod }[]): readonly Pod[] => some.map((each) => each.pod);
  fc.assert(
    fc.property(both, ([first, second, shuffled]) => {
      const made = written(podsOf(first), undefined) ?? assert.fail();
      const before = {
        ...made,
        metadata: { ...made.metadata, resourceVersion: '7', annotations: { note: 'of a user' } },
      };
      const after = written(podsOf(second), before);
      for (const port of ['http', 'admin']) {
        const serving = second.filter(({ hasIp, admin }) => hasIp && (port === 'http' || admin));
        for (const [list, ready] of [['addresses', true] as const, ['notReadyAddresses', false] as const]) {
          const expected = serving.filter((each) => each.ready === ready).map((each) => nameOf(each.pod));
          assert.deepEqual(listed(after, port, list), expected.sort(compareText));
        }
      }
      assert.deepEqual(after?.metadata, before.metadata);
      assert.deepEqual(written(podsOf(shuffled), before), after);
      assert.equal(decide(SERVICE, podsOf(shuffled), after).kind, 'none', 'no thrash');
    }),
  );
});

test('with any number of pods: never over a thousand addresses, no ready one is dropped before an unready one, and a second pass writes nothing', () => {
  const service = { ...SERVICE, spec: { ...SERVICE.spec, ports: [{ port: 80, protocol: 'TCP' }] } };
  fc.assert(
    fc.property(fc.constantFrom(1_000, 1_001, 1_050), fc.constantFrom(1, 3), (size, every) => {
      const isReadyAt = (n: number): boolean => n % every === 0;
      const pods = Array.from({ length: size }, (_, n) =>
        backend(`p${n}`, `10.1.${Math.floor(n / 250)}.${n % 250}`, isReadyAt(n)),
      );
      const endpoints = written(pods, undefined, service);
      const [{ addresses = [], notReadyAddresses = [] } = {}] = endpoints?.subsets ?? [];
      const ready = pods.filter((_, n) => isReadyAt(n)).length;
      assert.equal(addresses.length, Math.min(ready, 1_000));
      assert.equal(addresses.length + notReadyAddresses.length, Math.min(size, 1_000));
      assert.equal(endpoints?.metadata.annotations !== undefined, size > 1_000, 'and it says that it was cut');
      assert.equal(decide(service, pods, endpoints).kind, 'none', 'no thrash');
    }),
    { numRuns: 10 },
  );
});

test('[TERM-09] a terminating pod is no longer an address while it still runs', async () => {
  const world = createWorld();
  world.api.put(SERVICES, SERVICE);
  const going = backend('a', '10.1.0.1');
  world.api.put(PODS, going);
  world.api.put(PODS, backend('b', '10.1.0.2'));
  const controller = new DrivenController(world, endpointsController);
  await controller.settle();
  const listed = (): unknown =>
    world.api
      .find(ENDPOINTS, { namespace: 'default', name: 'web' })
      ?.subsets?.map(({ addresses, notReadyAddresses }) =>
        [addresses, notReadyAddresses].map((list) => list?.map(({ ip }) => ip)),
      );
  assert.deepEqual(listed(), [[['10.1.0.1', '10.1.0.2'], undefined]]);
  world.api.put(PODS, { ...going, metadata: { ...going.metadata, deletionTimestamp: '2026-01-01T00:00:30Z' } });
  await controller.settle();
  assert.deepEqual(listed(), [[['10.1.0.2'], undefined]]);
});

test('[PROBE-09] [PROBE-14] the object follows the pods, causes no write without changes, and is deleted with its service', async () => {
  const world = createWorld();
  world.api.put(SERVICES, SERVICE);
  world.api.put(PODS, backend('a', '10.1.0.1'));
  const controller = new DrivenController(world, endpointsController);
  await controller.settle();
  const ready = (): unknown =>
    world.api.find(ENDPOINTS, { namespace: 'default', name: 'web' })?.subsets?.[0]?.addresses?.map(({ ip }) => ip);
  assert.deepEqual(ready(), ['10.1.0.1']);
  const writes = world.api.writes.length;
  world.api.put(PODS, {
    ...backend('a', '10.1.0.1'),
    metadata: { ...backend('a', '').metadata, annotations: { a: 'b' } },
  });
  await controller.settle();
  assert.equal(world.api.writes.length, writes);
  world.api.put(PODS, backend('a', '10.1.0.1', false));
  await controller.settle();
  assert.equal(ready(), undefined);
  world.api.drop(SERVICES, { namespace: 'default', name: 'web' });
  await controller.settle();
  assert.deepEqual(world.api.list(ENDPOINTS), []);
  assert.deepEqual(controller.errors, []);
});
