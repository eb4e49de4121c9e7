import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import {
  type KubeObject,
  NAMESPACES,
  type Namespace,
  NETWORK_POLICIES,
  type NetworkPolicy,
  type NetworkPolicySpec,
  PODS,
  type Pod,
  type ResourceRef,
} from '@holdfast/api';
import { createApiClient, createDirectTransport } from '@holdfast/client';
import { FakeApi, pathFor } from '@holdfast/client/testing';
import { createIds, createSeededRandom, createSilentLog } from '@holdfast/platform';
import { createVirtualClock } from '@holdfast/platform/testing';
import fc from 'fast-check';
import { createProxy } from '../app.ts';
import { MemoryFilter } from '../filter/memory-filter.ts';
import { RETRY_BASE_MS } from '../limits.ts';
import { DEFAULT_PROXY_OPTIONS, type ProxyOptions, type RelayedServer } from '../proxy-deps.ts';
import { type Flow, mayFlow, type PolicyWorld } from '../testing/policy-oracle.ts';
import { routePacket } from '../testing/route-packet.ts';

const HOMES = ['east', 'west'];
const SLOTS = [0, 1, 2, 3, 4];
const OUTSIDE = '203.0.113.9';
const addressOf = (slot: number): string => `10.244.0.${slot + 2}`;

const MACHINE_LINK = { name: 'machine0', address: '169.254.244.6' };

async function rig(options: Partial<ProxyOptions> = {}, relayed: readonly RelayedServer[] = []) {
  const clock = createVirtualClock();
  const api = new FakeApi(clock);
  const random = createSeededRandom(1, 'proxy');
  const transport = createDirectTransport(api.handler);
  const filter = new MemoryFilter();
  const proxy = createProxy({
    client: createApiClient({ transport, userAgent: 'test' }),
    clock,
    random,
    ids: createIds(random),
    log: createSilentLog(),
    nodeName: 'a',
    isForAllNodes: true,
    relayed,
    machineLink: MACHINE_LINK,
    filter,
    options: { ...DEFAULT_PROXY_OPTIONS, ...options },
  });
  const all = (resource: ResourceRef): readonly KubeObject[] =>
    [...api.objects()].flatMap(([path, object]) => (path.includes(`/${resource.plural}/`) ? [object] : []));
  return {
    clock,
    api,
    filter,
    proxy,
    settle: () => clock.advance(20),
    put: <T extends KubeObject>(resource: ResourceRef<T>, object: T) =>
      api.put(pathFor(resource, object.metadata.namespace ?? '', object.metadata.name ?? ''), object),
    remove: (resource: ResourceRef, namespace: string, name: string) => api.remove(pathFor(resource, namespace, name)),
    world: (): PolicyWorld => ({
      policies: all(NETWORK_POLICIES) as readonly NetworkPolicy[],
      pods: all(PODS) as readonly Pod[],
      namespaces: (all(NAMESPACES) as readonly Namespace[]).filter(({ kind }) => kind === 'Namespace'),
    }),
    passes: (flow: Flow & { readonly link?: string }): boolean => {
      const table = filter.tables.get('ip');
      assert.ok(table !== undefined);
      const packet = { ...flow, protocol: flow.protocol as 'TCP' };
      return (
        routePacket(packet, { table, own: new Set(relayed.map(({ address }) => address)), random: 0 }).kind === 'sent'
      );
    },
  };
}

const namespace = (name: string, labels: Record<string, string>): Namespace => ({
  apiVersion: 'v1',
  kind: 'Namespace',
  metadata: { name, labels },
  spec: {},
  status: {},
});

interface PodSketch {
  readonly labels: Record<string, string>;
  readonly hostNetwork: boolean;
  readonly phase: 'Pending' | 'Running' | 'Succeeded';
  readonly webPort: number;
}

const pod = (home: string, slot: number, sketch: Partial<PodSketch> = {}): Pod => {
  const { labels = {}, hostNetwork = false, phase = 'Running', webPort = 80 } = sketch;
  const ports = (['TCP', 'UDP'] as const).map((protocol) => ({ name: 'web', containerPort: webPort, protocol }));
  return {
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: { namespace: home, name: `pod-${slot}`, labels },
    spec: { containers: [{ name: 'main', ports, resources: {} }], ...(hostNetwork ? { hostNetwork } : {}) },
    status: { phase, ...(phase === 'Pending' ? {} : { podIPs: [{ ip: addressOf(slot) }] }) },
  };
};

const policy = (home: string, name: string, spec: NetworkPolicySpec): NetworkPolicy => ({
  apiVersion: 'networking.k8s.io/v1',
  kind: 'NetworkPolicy',
  metadata: { namespace: home, name },
  spec: { policyTypes: ['Ingress'], ...spec },
});

const label = fc.constantFrom('x', 'y');
const labels = fc.oneof(
  fc.constant({}),
  fc.record({ app: label }),
  fc.record({ app: label, tier: label }),
) as fc.Arbitrary<Record<string, string>>;
const selector = fc.oneof(
  fc.constant({}),
  labels.map((matchLabels) => ({ matchLabels })),
  fc
    .record({ key: fc.constantFrom('app', 'tier'), operator: fc.constantFrom('In', 'NotIn'), value: label })
    .map(({ key, operator, value }) => ({ matchExpressions: [{ key, operator, values: [value] }] })),
  fc
    .record({ key: fc.constantFrom('app', 'tier'), operator: fc.constantFrom('Exists', 'DoesNotExist') })
    .map((expression) => ({ matchExpressions: [expression] })),
);
const block = fc
  .record({
    cidr: fc.constantFrom('0.0.0.0/0', '10.244.0.0/29', '203.0.113.0/24', 'fd00::/8'),
    except: fc.subarray(['10.244.0.4/31', '203.0.113.8/30']),
  })
  .map((ipBlock) => ({ ipBlock }));
const peer = fc.oneof(
  selector.map((podSelector) => ({ podSelector })),
  selector.map((namespaceSelector) => ({ namespaceSelector })),
  fc.record({ podSelector: selector, namespaceSelector: selector }),
  block,
);
const protocol = fc.constantFrom('TCP', 'UDP', 'SCTP');
const port = fc.oneof(
  fc.record({ protocol }),
  fc.record({ protocol, port: fc.constantFrom<string | number>(80, 81, 'web') }),
  fc.record({ protocol, port: fc.constant(80), endPort: fc.constantFrom(80, 81, 90) }),
);
const few = <T>(each: fc.Arbitrary<T>) => fc.array(each, { maxLength: 2 });
const spec: fc.Arbitrary<NetworkPolicySpec> = fc.record({
  podSelector: selector,
  policyTypes: fc.subarray(['Ingress', 'Egress'], { minLength: 1 }),
  ingress: few(fc.record({ from: few(peer), ports: few(port) })),
  egress: few(fc.record({ to: few(peer), ports: few(port) })),
});
const podSketch: fc.Arbitrary<PodSketch> = fc.record({
  labels,
  hostNetwork: fc.integer({ max: 9 }).map((n) => n === 0),
  phase: fc.constantFrom('Running', 'Running', 'Running', 'Pending', 'Succeeded'),
  webPort: fc.constantFrom(80, 81),
});
const home = fc.constantFrom(...HOMES);

type Rig = Awaited<ReturnType<typeof rig>>;
type Step = (to: Rig) => unknown;

const step: fc.Arbitrary<Step> = fc.oneof(
  {
    weight: 4,
    arbitrary: fc.tuple(fc.constantFrom(...SLOTS), podSketch).map(
      ([slot, sketch]): Step =>
        (to) =>
          to.put(PODS, pod(homeOf(slot), slot, sketch)),
    ),
  },
  {
    weight: 1,
    arbitrary: fc.constantFrom(...SLOTS).map(
      (slot): Step =>
        (to) =>
          to.remove(PODS, homeOf(slot), `pod-${slot}`),
    ),
  },
  {
    weight: 3,
    arbitrary: fc.tuple(home, fc.constantFrom('p', 'q'), spec).map(
      ([at, name, each]): Step =>
        (to) =>
          to.put(NETWORK_POLICIES, policy(at, name, each)),
    ),
  },
  {
    weight: 1,
    arbitrary: fc.tuple(home, fc.constantFrom('p', 'q')).map(
      ([at, name]): Step =>
        (to) =>
          to.remove(NETWORK_POLICIES, at, name),
    ),
  },
  {
    weight: 1,
    arbitrary: fc.tuple(home, labels).map(
      ([at, each]): Step =>
        (to) =>
          to.put(NAMESPACES, namespace(at, each)),
    ),
  },
  { weight: 2, arbitrary: fc.constant<Step>((to) => to.settle()) },
);

const homeOf = (slot: number): string => HOMES[slot % HOMES.length] ?? '';

/** Every pair of addresses, on every protocol and port that decides anything. */
function* flows(): Generator<Flow> {
  const addresses = [...SLOTS.map(addressOf), OUTSIDE];
  for (const source of addresses) {
    for (const destination of addresses) {
      if (source === destination) continue;
      for (const each of ['TCP', 'UDP', 'SCTP'])
        for (const number of [79, 80, 81, 90, 91]) yield { source, destination, protocol: each, port: number };
    }
  }
}

test('after any history of pods, namespaces and policies, exactly the flows pass that the policies allow', async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(step, { maxLength: 25 }), fc.nat(25), async (steps, startAt) => {
      const to = await rig();
      const slots = SLOTS.map(
        (slot): Step =>
          (each) =>
            each.put(PODS, pod(homeOf(slot), slot, { labels: { app: 'x' } })),
      );
      for (const each of [...slots, ...steps.slice(0, startAt)]) if (each !== undefined) await each(to);
      const started = to.proxy.start();
      await to.settle();
      await started;
      for (const each of steps.slice(startAt)) await each(to);
      await to.settle();
      await to.settle();
      const world = to.world();
      for (const flow of flows()) assert.equal(to.passes(flow), mayFlow(world, flow), JSON.stringify(flow));
      assert.equal(to.filter.resets, 1, 'every change was one that the kernel accepts');
      await to.proxy.stop();
    }),
    { numRuns: 60 },
  );
});

test('policies do not bind programs of the machine, which arrive over a link of their own', async () => {
  const to = await rig();
  for (const slot of SLOTS) to.put(PODS, pod(homeOf(slot), slot));
  to.put(NETWORK_POLICIES, policy('east', 'p', { podSelector: {}, policyTypes: ['Ingress', 'Egress'] }));
  const started = to.proxy.start();
  await to.settle();
  await started;
  const flow = { source: OUTSIDE, destination: addressOf(0), protocol: 'TCP', port: 80 } as const;
  assert.equal(to.passes(flow), false);
  assert.equal(to.passes({ ...flow, link: 'pod1' }), false);
  assert.equal(to.passes({ ...flow, link: MACHINE_LINK.name }), false);
  assert.equal(to.passes({ ...flow, source: MACHINE_LINK.address, link: MACHINE_LINK.name }), true);
  assert.equal(to.passes({ ...flow, source: MACHINE_LINK.address, link: 'pod1' }), false);
  await to.proxy.stop();
});

test('a pod costs the rules of its own policies alone, and its status costs nothing', async () => {
  const to = await rig();
  for (const slot of SLOTS) to.put(PODS, pod(homeOf(slot), slot, { labels: { app: 'x' } }));
  to.put(NETWORK_POLICIES, policy('east', 'p', { podSelector: { matchLabels: { app: 'x' } } }));
  to.put(NETWORK_POLICIES, policy('west', 'q', { podSelector: {} }));
  const started = to.proxy.start();
  await to.settle();
  await started;
  const { scripts } = to.filter;
  const before = scripts.length;
  const running = pod('east', 0, { labels: { app: 'x' } });
  to.put(PODS, { ...running, metadata: { ...running.metadata, uid: 'one' } });
  await to.settle();
  to.put(PODS, {
    ...running,
    metadata: { ...running.metadata, uid: 'one' },
    status: { ...running.status, message: 'm' },
  });
  await to.settle();
  assert.equal(scripts.length, before + 1);
  assert.ok((scripts.at(-1) ?? '').includes('ingress-pod/one'));
  assert.ok(!(scripts.at(-1) ?? '').includes(addressOf(1)));
  to.put(PODS, pod('east', 0, { labels: {} }));
  await to.settle();
  assert.ok(to.passes({ source: OUTSIDE, destination: addressOf(0), protocol: 'TCP', port: 80 }));
  await to.proxy.stop();
});

test('pods and namespaces are not read before there is a policy', async () => {
  const to = await rig();
  const lists = (plural: string): number => to.api.requests.filter(({ path }) => path.endsWith(`/${plural}`)).length;
  to.put(PODS, pod('east', 0));
  const started = to.proxy.start();
  await to.settle();
  await started;
  assert.deepEqual([lists('pods'), lists('namespaces'), lists('networkpolicies') > 0], [0, 0, true]);
  to.put(NETWORK_POLICIES, policy('east', 'p', { podSelector: {} }));
  await to.settle();
  await to.settle();
  const flow = { source: OUTSIDE, destination: addressOf(0), protocol: 'TCP', port: 80 };
  assert.equal(to.passes(flow), false);
  to.remove(NETWORK_POLICIES, 'east', 'p');
  await to.settle();
  assert.equal(to.passes(flow), true);
  await to.proxy.stop();
});

test('without network policies nothing about them is read', async () => {
  const to = await rig({ networkPolicies: false });
  const started = to.proxy.start();
  await to.settle();
  await started;
  assert.ok(to.api.requests.every(({ path }) => !path.endsWith('/networkpolicies')));
  await to.proxy.stop();
});

describe('a pod that starts', () => {
  const [ADDRESS, UID] = ['10.244.0.7', 'uid-1'];
  const starting = { id: 'node/uid-1/0', namespace: 'east', name: 'pod-0', uid: UID, address: ADDRESS };
  const flow = { source: ADDRESS, destination: OUTSIDE, protocol: 'TCP', port: 80 };
  const unplaced = (): Pod => {
    const object = pod('east', 0, { phase: 'Pending' });
    return { ...object, metadata: { ...object.metadata, uid: UID } };
  };
  const closed = policy('east', 'closed', { podSelector: {}, policyTypes: ['Egress'] });

  async function begun(...policies: readonly NetworkPolicy[]) {
    const to = await rig();
    for (const each of policies) to.put(NETWORK_POLICIES, each);
    const started = to.proxy.start();
    await to.settle();
    await to.settle();
    await started;
    let isAdmitted = false;
    const admit = (): void => void to.proxy.admitPod(starting).then(() => (isAdmitted = true));
    return { ...to, admit, isAdmitted: () => isAdmitted };
  }

  test('is bound by the policies before its address is in its status', async () => {
    const to = await begun(closed);
    to.put(PODS, unplaced());
    await to.settle();
    assert.equal(to.passes(flow), true, 'nobody has the address');
    to.admit();
    await to.settle();
    assert.deepEqual([to.isAdmitted(), to.passes(flow)], [true, false]);
    to.put(PODS, { ...unplaced(), status: { phase: 'Running', podIPs: [{ ip: ADDRESS }] } });
    await to.settle();
    assert.equal(to.passes(flow), false);
    to.proxy.podLeft(starting.id);
    to.remove(PODS, 'east', 'pod-0');
    await to.settle();
    assert.equal(to.passes(flow), true, 'the next pod with this address may be another one');
    await to.proxy.stop();
  });

  test('waits until its object was read, and until the kernel has its rules', async () => {
    const to = await begun(closed);
    to.admit();
    await to.settle();
    assert.equal(to.isAdmitted(), false, 'its labels are not known');
    to.filter.failures.push(new Error('nft ended with code 1: no room'));
    to.put(PODS, unplaced());
    await to.settle();
    assert.equal(to.isAdmitted(), false, 'its rules could not be written');
    await to.clock.advance(RETRY_BASE_MS * 2);
    assert.deepEqual([to.isAdmitted(), to.passes(flow)], [true, false]);
    await to.proxy.stop();
  });

  test('waits for nothing where there are no policies, and is bound by the first one', async () => {
    const to = await begun();
    to.filter.failures.push(...Array.from({ length: 10 }, () => new Error('nft ended with code 1: no room')));
    to.put(PODS, unplaced());
    to.admit();
    await to.settle();
    assert.equal(to.isAdmitted(), true);
    to.filter.failures.length = 0;
    to.put(NETWORK_POLICIES, closed);
    await to.clock.advance(RETRY_BASE_MS * 2);
    assert.equal(to.passes(flow), false);
    await to.proxy.stop();
  });
});

describe('policies for egress bind what pods send to servers of the network itself', () => {
  const [API, DNS] = ['10.96.0.1', '10.96.0.10'];
  const RELAYED: readonly RelayedServer[] = [
    { address: API },
    {
      address: DNS,
      seenAs: {
        namespace: 'kube-system',
        labels: { 'k8s-app': 'kube-dns' },
        ports: [{ name: 'dns', containerPort: 53, protocol: 'UDP' }],
      },
    },
  ];
  const sent = (address: string): readonly Flow[] => [
    { source: addressOf(0), destination: API, protocol: 'TCP', port: 443 },
    { source: addressOf(0), destination: DNS, protocol: 'UDP', port: 53 },
    { source: address, destination: DNS, protocol: 'UDP', port: 53 },
  ];

  /** Whether the pod of the policy reaches the API and DNS, and another pod DNS. */
  async function reached(...egress: NonNullable<NetworkPolicySpec['egress']>): Promise<readonly boolean[]> {
    const to = await rig({}, RELAYED);
    to.put(NAMESPACES, namespace('kube-system', { 'kubernetes.io/metadata.name': 'kube-system' }));
    to.put(PODS, pod('east', 0, { labels: { app: 'x' } }));
    to.put(PODS, pod('west', 1));
    const started = to.proxy.start();
    await to.settle();
    await started;
    to.put(NETWORK_POLICIES, policy('east', 'p', { podSelector: {}, policyTypes: ['Egress'], egress }));
    await to.settle();
    await to.settle();
    const passed = sent(addressOf(1)).map((flow) => to.passes(flow));
    await to.proxy.stop();
    return passed;
  }

  test('a policy that allows nothing closes both', async () => {
    assert.deepEqual(await reached(), [false, false, true]);
  });

  test('a port, a network and an address open them', async () => {
    assert.deepEqual(await reached({ ports: [{ port: 53, protocol: 'UDP' }] }), [false, true, true]);
    assert.deepEqual(await reached({ to: [{ ipBlock: { cidr: `${API}/32` } }] }), [true, false, true]);
    assert.deepEqual(await reached({}), [true, true, true]);
  });

  test('DNS is what policies select as the pods of the DNS of a cluster', async () => {
    const podSelector = { matchLabels: { 'k8s-app': 'kube-dns' } };
    const namespaceSelector = { matchLabels: { 'kubernetes.io/metadata.name': 'kube-system' } };
    const ports = [{ port: 'dns', protocol: 'UDP' }];
    assert.deepEqual(await reached({ to: [{ namespaceSelector, podSelector }], ports }), [false, true, true]);
    assert.deepEqual(await reached({ to: [{ namespaceSelector: {} }] }), [false, true, true]);
    assert.deepEqual(await reached({ to: [{ podSelector }] }), [false, false, true], 'of the namespace of the policy');
  });
});
