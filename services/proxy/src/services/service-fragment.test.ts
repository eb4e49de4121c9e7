import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import type { EndpointSlice, Service, TrafficPlace } from '@holdfast/api';
import { Assembly } from '../ruleset/assembly.ts';
import { BASE_UNIT, type BaseOptions, baseFragment } from '../ruleset/base.ts';
import type { Family, Table } from '../ruleset/model.ts';
import { type EndpointSketch, node, service, slice } from '../testing/builders.ts';
import { type Fate, type Packet, routePacket } from '../testing/route-packet.ts';
import { serviceFragment } from './service-fragment.ts';

const OPTIONS: BaseOptions = {
  clusterCidrs: ['10.244.0.0/16', 'fd00:244::/64'],
  masqueradeAll: false,
  nodePortAddresses: [],
};
const HERE: TrafficPlace = { nodeName: 'a', zone: 'east' };
const [POD, OTHER_POD, CLIENT, NODE] = ['10.244.0.9', '10.244.1.9', '203.0.113.5', '192.0.2.1'];
const TWO: readonly EndpointSketch[] = [{ address: '10.244.0.2' }, { address: '10.244.1.3', node: 'b' }];

interface Scene {
  readonly services: readonly (readonly [Service, readonly EndpointSlice[]])[];
  readonly place?: TrafficPlace;
  readonly options?: Partial<BaseOptions>;
  readonly family?: Family;
  readonly relayed?: readonly string[];
}

function tableOf({ services, place = HERE, options, family = 'ip', relayed = [] }: Scene): Table {
  const assembly = new Assembly(family);
  assembly.replace([[BASE_UNIT, baseFragment(family, { node: node('a'), relayed }, { ...OPTIONS, ...options })]]);
  for (const [each, slices] of services) {
    const unit = `service default/${each.metadata.name}`;
    assembly.replace([[unit, serviceFragment({ service: each, slices }, family, place)]]);
  }
  return assembly.table();
}

const one = (sketch: Parameters<typeof service>[0], endpoints: readonly EndpointSketch[]): Scene => ({
  services: [[service(sketch), endpoints.length === 0 ? [] : [slice(endpoints)]]],
});

/** The fates of a flow over all random choices. */
function fatesOf(table: Table, packet: Partial<Packet>): readonly Fate[] {
  const whole: Packet = { source: POD, destination: '10.96.0.1', protocol: 'TCP', port: 80, ...packet };
  const own = new Set([NODE, '10.244.0.1']);
  return [0, 0.26, 0.51, 0.76].map((random) => routePacket(whole, { table, own, random }));
}

/** `address:port`, with `!` when the source is replaced; or what became of the flow. */
function ends(scene: Scene, packet: Partial<Packet> = {}): string {
  const texts = fatesOf(tableOf(scene), packet).map(({ kind, destination, port, isMasqueraded }) =>
    kind === 'sent' ? `${destination}:${port}${isMasqueraded ? '!' : ''}` : kind,
  );
  return [...new Set(texts)].toSorted().join(' ');
}

describe('a cluster address', () => {
  test('balances over the ready endpoints of all nodes', () => {
    assert.equal(ends(one({}, TWO)), '10.244.0.2:8080 10.244.1.3:8080');
  });

  test('[PROBE-14] leaves out endpoints that are not ready', () => {
    assert.equal(ends(one({}, [...TWO, { address: '10.244.0.4', ready: false }])), '10.244.0.2:8080 10.244.1.3:8080');
  });

  test('uses terminating endpoints that still serve when nothing is ready', () => {
    const last = { address: '10.244.0.4', ready: false, serving: true, terminating: true };
    const ended = { address: '10.244.0.5', ready: false, serving: false, terminating: true };
    assert.equal(ends(one({}, [last, ended])), '10.244.0.4:8080');
    assert.equal(ends(one({}, [last, ended, ...TWO])), '10.244.0.2:8080 10.244.1.3:8080');
  });

  test('refuses when there is no endpoint', () => {
    assert.equal(ends(one({}, [])), 'refused');
  });

  test('refuses ports that no service has', () => {
    assert.equal(ends(one({}, TWO), { port: 81 }), 'refused');
    assert.equal(ends(one({}, TWO), { protocol: 'UDP' }), 'refused');
  });

  test('keeps the source of pods and replaces the source of others', () => {
    assert.equal(ends(one({}, TWO), { source: CLIENT }), '10.244.0.2:8080! 10.244.1.3:8080!');
    assert.equal(
      ends({ ...one({}, TWO), options: { clusterCidrs: [] } }, { source: CLIENT }),
      '10.244.0.2:8080 10.244.1.3:8080',
    );
    assert.equal(ends({ ...one({}, TWO), options: { masqueradeAll: true } }), '10.244.0.2:8080! 10.244.1.3:8080!');
  });

  test('replaces the source of an endpoint that reaches itself', () => {
    assert.equal(ends(one({}, TWO), { source: '10.244.0.2' }), '10.244.0.2:8080! 10.244.1.3:8080');
  });

  test('has endpoints of every node where all nodes share the rules', () => {
    const place = { nodeName: undefined };
    assert.equal(ends({ ...one({}, TWO), place }, { source: '10.244.1.3' }), '10.244.0.2:8080 10.244.1.3:8080!');
    const local = one({ internalTrafficPolicy: 'Local' }, TWO);
    assert.equal(ends({ ...local, place }), '10.244.0.2:8080 10.244.1.3:8080');
  });

  test('stays on the node by internalTrafficPolicy Local', () => {
    const local = { internalTrafficPolicy: 'Local' };
    assert.equal(ends(one(local, TWO)), '10.244.0.2:8080');
    assert.equal(ends(one(local, [{ address: '10.244.1.3', node: 'b' }])), 'dropped');
    assert.equal(ends(one(local, [])), 'refused');
  });

  test('follows the hints when every ready endpoint has one and one is for this zone', () => {
    const hinted = [
      { address: '10.244.0.2', zones: ['east'] },
      { address: '10.244.1.3', node: 'b', zones: ['west'] },
    ];
    assert.equal(ends(one({}, hinted)), '10.244.0.2:8080');
    assert.equal(ends({ ...one({}, hinted), place: { nodeName: 'a' } }), '10.244.0.2:8080 10.244.1.3:8080');
    assert.equal(
      ends({ ...one({}, hinted), place: { nodeName: 'a', zone: 'north' } }),
      '10.244.0.2:8080 10.244.1.3:8080',
    );
    assert.equal(
      ends(one({}, [...hinted, { address: '10.244.0.4' }])),
      '10.244.0.2:8080 10.244.0.4:8080 10.244.1.3:8080',
    );
  });

  test('sends each port to the port of the same name', () => {
    const ports = [
      { name: 'a', port: 80 },
      { name: 'b', port: 81 },
    ];
    const slices = [
      slice(TWO.slice(0, 1), { portName: 'a', port: 1 }),
      slice(TWO.slice(1), { portName: 'b', port: 2 }),
    ];
    const scene: Scene = { services: [[service({ ports }), slices]] };
    assert.equal(ends(scene), '10.244.0.2:1');
    assert.equal(ends(scene, { port: 81 }), '10.244.1.3:2');
  });

  test('works in both families, each with the endpoints of its own', () => {
    const dual = service({ clusterIPs: ['10.96.0.1', 'fd00:96::1'] });
    const slices = [slice(TWO), slice([{ address: 'fd00:244::2' }], { name: 'six' })];
    assert.equal(ends({ services: [[dual, slices]] }), '10.244.0.2:8080 10.244.1.3:8080');
    const six: Scene = { services: [[dual, slices]], family: 'ip6' };
    assert.equal(ends(six, { source: 'fd00:244::9', destination: 'fd00:96::1' }), 'fd00:244::2:8080');
  });

  test('is left alone for headless services and for those of another proxy', () => {
    assert.equal(
      tableOf(one({ clusterIP: 'None', clusterIPs: ['None'] }, TWO)).chains.has('cluster/default/web/tcp/80'),
      false,
    );
    const labels = { 'service.kubernetes.io/service-proxy-name': 'mine' };
    assert.equal(ends(one({ labels }, TWO)), '10.96.0.1:80');
    assert.equal(ends(one({ type: 'ExternalName' }, TWO)), '10.96.0.1:80');
  });

  test('wins over the same address as an external address of another service', () => {
    const thief = service({ name: 'a-thief', clusterIP: '10.96.0.2', externalIPs: ['10.96.0.1'] });
    const scene = one({}, TWO);
    const services = [[thief, [slice([{ address: '10.244.0.66' }], { of: 'a-thief' })]] as const, ...scene.services];
    assert.equal(ends({ services }), '10.244.0.2:8080 10.244.1.3:8080');
    assert.equal(ends({ services }, { port: 81 }), 'refused', 'a port that the owner of the address does not have');
  });
});

describe('addresses that no service of a user takes over', () => {
  const [API, DNS] = ['10.96.0.1', '10.96.0.10'];
  const thiefAt = (...addresses: readonly string[]): readonly [Service, readonly EndpointSlice[]] => [
    service({
      name: 'a-thief',
      type: 'LoadBalancer',
      clusterIP: '10.96.0.2',
      ports: [{ port: 443 }, { name: 'api', port: 6443 }, { name: 'dns', port: 53, protocol: 'UDP' }],
      externalIPs: [...addresses],
      ingress: addresses.map((ip) => ({ ip })),
    }),
    [slice([{ address: '10.244.0.66' }], { of: 'a-thief' })],
  ];

  test('those at which the network itself answers, by whatever field it names them', () => {
    const relayed = [API, DNS];
    const scene: Scene = { services: [thiefAt(API, DNS)], relayed };
    assert.equal(ends(scene, { destination: API, port: 443 }), `${API}:443`);
    assert.equal(ends(scene, { destination: DNS, port: 53, protocol: 'UDP' }), `${DNS}:53`);
    const owner = service({ name: 'owner', clusterIP: DNS, ports: [{ port: 53, protocol: 'UDP' }] });
    const taken: Scene = { services: [[owner, [slice(TWO, { of: 'owner', protocol: 'UDP' })]]], relayed };
    assert.equal(ends(taken, { destination: DNS, port: 53, protocol: 'UDP' }), `${DNS}:53`);
  });

  test('the places of the API servers', () => {
    const servers = slice([{ address: '192.0.2.77' }], { of: 'kubernetes', port: 6443 });
    const api: Scene['services'][number] = [service({ name: 'kubernetes', clusterIP: API }), [servers]];
    const packet = { destination: '192.0.2.77', port: 6443 };
    assert.equal(ends({ services: [thiefAt('192.0.2.77')] }, packet), 'refused', 'the thief alone gets the traffic');
    assert.equal(ends({ services: [thiefAt('192.0.2.77'), api] }, packet), '192.0.2.77:6443');
  });
});

describe('addresses outside the cluster', () => {
  const NODE_PORT = { type: 'NodePort', ports: [{ nodePort: 30_080 }] };
  const BALANCED = { ...NODE_PORT, type: 'LoadBalancer', ingress: [{ ip: '198.51.100.7' }] };
  const at = (destination: string, port = 80, source = CLIENT): Partial<Packet> => ({ source, destination, port });

  test('a node port leads to all endpoints, with the node as the source', () => {
    assert.equal(ends(one(NODE_PORT, TWO), at(NODE, 30_080)), '10.244.0.2:8080! 10.244.1.3:8080!');
    assert.equal(ends(one(NODE_PORT, []), at(NODE, 30_080)), 'refused');
    assert.equal(
      ends(one(NODE_PORT, TWO), at('10.244.0.1', 30_080)),
      '10.244.0.1:30080',
      'another address of the node',
    );
    const options = { nodePortAddresses: ['10.244.0.0/24'] };
    assert.equal(
      ends({ ...one(NODE_PORT, TWO), options }, at('10.244.0.1', 30_080)),
      '10.244.0.2:8080! 10.244.1.3:8080!',
    );
  });

  test('external addresses and those of load balancers do the same', () => {
    assert.equal(
      ends(one({ externalIPs: ['198.51.100.1'] }, TWO), at('198.51.100.1')),
      '10.244.0.2:8080! 10.244.1.3:8080!',
    );
    assert.equal(ends(one(BALANCED, TWO), at('198.51.100.7')), '10.244.0.2:8080! 10.244.1.3:8080!');
    const proxied = { ...BALANCED, ingress: [{ ip: '198.51.100.7', ipMode: 'Proxy' }] };
    assert.equal(
      ends(one(proxied, TWO), at('198.51.100.7')),
      '198.51.100.7:80',
      'the load balancer changes the address itself',
    );
  });

  test('externalTrafficPolicy Local keeps the source and the node', () => {
    const local = { ...BALANCED, externalTrafficPolicy: 'Local' };
    assert.equal(ends(one(local, TWO), at('198.51.100.7')), '10.244.0.2:8080');
    assert.equal(ends(one(local, TWO), at(NODE, 30_080)), '10.244.0.2:8080');
    assert.equal(ends(one(local, TWO.slice(1)), at('198.51.100.7')), 'dropped');
    assert.equal(ends(one(local, []), at('198.51.100.7')), 'refused');
  });

  test('externalTrafficPolicy Local does not bind pods and the node itself', () => {
    const local = one({ ...BALANCED, externalTrafficPolicy: 'Local' }, TWO.slice(1));
    assert.equal(ends(local, at('198.51.100.7', 80, OTHER_POD)), '10.244.1.3:8080');
    assert.equal(ends(local, at('198.51.100.7', 80, NODE)), '10.244.1.3:8080!');
  });

  test('loadBalancerSourceRanges close the addresses of the load balancer alone', () => {
    const closed = one({ ...BALANCED, loadBalancerSourceRanges: ['203.0.113.0/29', '203.0.113.4/30'] }, TWO);
    assert.equal(ends(closed, at('198.51.100.7')), '10.244.0.2:8080! 10.244.1.3:8080!');
    assert.equal(ends(closed, at('198.51.100.7', 80, '203.0.113.9')), 'dropped');
    assert.equal(ends(closed, at(NODE, 30_080, '203.0.113.9')), '10.244.0.2:8080! 10.244.1.3:8080!');
  });
});

describe('session affinity', () => {
  test('sends a client where it was sent before', () => {
    const table = tableOf(one({ sessionAffinity: 'ClientIP' }, TWO));
    const clients = new Map<string, Set<string>>();
    const go = (source: string, random: number): string =>
      routePacket(
        { source, destination: '10.96.0.1', protocol: 'TCP', port: 80 },
        { table, own: new Set([NODE]), random, clients },
      ).destination;
    const first = go(POD, 0.9);
    assert.deepEqual([go(POD, 0), go(POD, 0.4), go(POD, 0.9)], [first, first, first]);
    assert.notEqual(go(OTHER_POD, 0), first);
  });

  test('keeps clients for the time that the service names', () => {
    const shapes = (seconds: number) => [
      ...tableOf(
        one({ sessionAffinity: 'ClientIP', sessionAffinityConfig: { clientIP: { timeoutSeconds: seconds } } }, TWO),
      ).sets.values(),
    ];
    assert.equal(shapes(7).filter((shape) => shape.kind === 'clients' && shape.timeoutSeconds === 7).length, 2);
  });
});
