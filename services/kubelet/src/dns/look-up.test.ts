import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { EndpointSlice, Service } from '@holdfast/api';
import { type Found, type KnownNames, lookUp } from './look-up.ts';

const service = (name: string, spec: Partial<Service['spec']>): Service => ({
  apiVersion: 'v1',
  kind: 'Service',
  metadata: { namespace: 'shop', name },
  spec: { ...spec },
  status: { loadBalancer: {} },
});
const SERVICES = [
  service('web', { clusterIP: '10.96.0.7', clusterIPs: ['10.96.0.7', 'fd00::7'], ports: [{ name: 'http', port: 80 }] }),
  service('api', { clusterIP: '10.96.0.9', ports: [{ name: 'http', port: 80, targetPort: 8080 }] }),
  service('db', { clusterIP: 'None' }),
  service('far', { type: 'ExternalName', externalName: 'Example.COM' }),
];
const SLICE: EndpointSlice = {
  apiVersion: 'discovery.k8s.io/v1',
  kind: 'EndpointSlice',
  metadata: { namespace: 'shop', name: 'db-1', labels: { 'kubernetes.io/service-name': 'db' } },
  addressType: 'IPv4',
  ports: [{ name: 'sql', protocol: 'TCP', port: 5432 }],
  endpoints: [
    { addresses: ['10.0.0.1'], hostname: 'db-0', conditions: { ready: true } },
    { addresses: ['10.0.0.2'], conditions: {} },
    { addresses: ['10.0.0.3'], hostname: 'db-2', conditions: { ready: false } },
  ],
};
const API_SLICE: EndpointSlice = {
  ...SLICE,
  metadata: { namespace: 'shop', name: 'api-1' },
  ports: [{ name: 'http', protocol: 'TCP', port: 8080 }],
  endpoints: [
    { addresses: ['10.0.0.9'], conditions: { ready: true } },
    { addresses: ['10.0.0.8'], conditions: { ready: false } },
  ],
};
const SLICES = new Map([
  ['db', [SLICE]],
  ['api', [API_SLICE]],
]);
const NAMES = {
  domain: 'cluster.local',
  service: (namespace: string, name: string) =>
    SERVICES.find(({ metadata }) => metadata.namespace === namespace && metadata.name === name),
  slices: (_namespace: string, name: string) => SLICES.get(name) ?? [],
  servicesAt: (address: string) => SERVICES.filter(({ spec }) => spec.clusterIPs?.includes(address)),
  slicesAt: (address: string) =>
    [SLICE, API_SLICE].filter(({ endpoints }) => endpoints.some((each) => each.addresses.includes(address))),
};
const found = (name: string, type = 'A'): Found => lookUp(NAMES, name, type);
const ROUTED = { ...NAMES, isRouted: () => true };
const addresses = (...data: readonly string[]): Found => ({
  kind: 'records',
  records: data.map((each) => ({ type: each.includes(':') ? 'AAAA' : 'A', data: each })),
});

test('[EXP-08] [EXP-11] a service name resolves as soon as the service exists, in any case, with its addresses by type', () => {
  assert.deepEqual(found('api.shop.svc.cluster.local'), addresses('10.0.0.9'));
  assert.deepEqual(found('API.Shop.SVC.cluster.local.'), addresses('10.0.0.9'));
  assert.deepEqual(found('api.shop.svc.cluster.local', 'AAAA'), addresses());
  assert.deepEqual(found('web.shop.svc.cluster.local', 'MX'), addresses());
  for (const missing of ['none.shop', 'web.other', 'x.web.shop', 'x.y.z.web.shop'])
    assert.deepEqual(found(`${missing}.svc.cluster.local`), { kind: 'missing' }, missing);
});

test('no name resolves to a cluster IP, because nothing routes it here', () => {
  assert.deepEqual(found('web.shop.svc.cluster.local'), addresses('192.0.2.0'));
  assert.deepEqual(found('web.shop.svc.cluster.local', 'AAAA'), addresses('100::'));
  for (const name of ['web', 'api', 'db']) {
    const { records = [] } = found(`${name}.shop.svc.cluster.local`, 'ANY') as {
      records?: readonly { data?: string }[];
    };
    assert.ok(records.length > 0, name);
    for (const { data = '' } of records) assert.ok(!data.startsWith('10.96.') && !data.startsWith('fd00:'), data);
  }
});

test('names between the domain and the services exist; names outside the domain are forwarded', () => {
  for (const between of ['', 'svc.', 'shop.svc.', '_tcp.web.shop.svc.'])
    assert.deepEqual(found(`${between}cluster.local`), addresses(), between);
  for (const outside of ['example.com', 'notcluster.local', 'local', 'web'])
    assert.deepEqual(found(outside), { kind: 'outside' });
});

test('a headless service resolves to its ready endpoints, each with its own name', () => {
  assert.deepEqual(found('db.shop.svc.cluster.local'), addresses('10.0.0.1', '10.0.0.2'));
  assert.deepEqual(found('db-0.db.shop.svc.cluster.local'), addresses('10.0.0.1'));
  assert.deepEqual(found('10-0-0-2.db.shop.svc.cluster.local'), addresses('10.0.0.2'));
  assert.deepEqual(found('db-2.db.shop.svc.cluster.local'), { kind: 'missing' });
});

test('where cluster addresses are routed, services resolve to them, and headless ones to their endpoints', () => {
  const routed = (name: string, type = 'A'): Found => lookUp(ROUTED, `${name}.shop.svc.cluster.local`, type);
  assert.deepEqual(routed('web'), addresses('10.96.0.7'));
  assert.deepEqual(routed('web', 'AAAA'), addresses('fd00::7'));
  assert.deepEqual(routed('api'), addresses('10.96.0.9'));
  assert.deepEqual(routed('db'), addresses('10.0.0.1', '10.0.0.2'));
  assert.deepEqual(routed('_http._tcp.api', 'SRV'), {
    kind: 'records',
    records: [{ type: 'SRV', port: 80, target: 'api.shop.svc.cluster.local' }],
  });
});

test('the address of a pod has a name; what is no address has none', () => {
  assert.deepEqual(found('10-0-0-1.shop.pod.cluster.local'), addresses('10.0.0.1'));
  assert.deepEqual(found('fd00--1.shop.pod.cluster.local', 'AAAA'), addresses('fd00::1'));
  assert.deepEqual(found('10-0-0-1.shop.pod.cluster.local', 'AAAA'), addresses());
  for (const between of ['pod', 'shop.pod']) assert.deepEqual(found(`${between}.cluster.local`), addresses(), between);
  for (const missing of ['10-0-0.shop.pod', '10-0-0-256.shop.pod', 'web.shop.pod', 'x.10-0-0-1.shop.pod'])
    assert.deepEqual(found(`${missing}.cluster.local`), { kind: 'missing' }, missing);
});

test('addresses of services and of endpoints with host names lead back to their names', () => {
  const pointer = (names: KnownNames, name: string): Found => lookUp(names, name, 'PTR');
  const to = (...names: readonly string[]): Found => ({
    kind: 'records',
    records: names.map((name) => ({ type: 'PTR', data: `${name}.shop.svc.cluster.local` })),
  });
  assert.deepEqual(pointer(NAMES, '7.0.96.10.in-addr.arpa'), to('web'));
  assert.deepEqual(pointer(NAMES, `7${'.0'.repeat(27)}.0.0.d.f.ip6.arpa`), to('web'));
  assert.deepEqual(lookUp(NAMES, '7.0.96.10.in-addr.arpa', 'A'), addresses());
  assert.deepEqual(pointer(NAMES, '1.0.0.10.in-addr.arpa'), { kind: 'outside' });
  assert.deepEqual(pointer(ROUTED, '1.0.0.10.in-addr.arpa'), to('db-0.db'));
  for (const outside of ['2.0.0.10.in-addr.arpa', '0.10.in-addr.arpa', 'x.0.0.10.in-addr.arpa', '1.ip6.arpa'])
    assert.deepEqual(pointer(ROUTED, outside), { kind: 'outside' }, outside);
});

test('the domain tells the version of the specification', () => {
  assert.deepEqual(found('dns-version.cluster.local', 'TXT'), {
    kind: 'records',
    records: [{ type: 'TXT', data: '1.1.0' }],
  });
  assert.deepEqual(found('dns-version.cluster.local'), addresses());
});

test('named ports have SRV records, and external services are aliases', () => {
  assert.deepEqual(found('_http._tcp.web.shop.svc.cluster.local', 'SRV'), {
    kind: 'records',
    records: [{ type: 'SRV', port: 80, target: 'web.shop.svc.cluster.local' }],
  });
  assert.deepEqual(found('_http._tcp.api.shop.svc.cluster.local', 'SRV'), {
    kind: 'records',
    records: [{ type: 'SRV', port: 8080, target: 'api.shop.svc.cluster.local' }],
  });
  assert.deepEqual(found('_sql._tcp.db.shop.svc.cluster.local', 'SRV'), {
    kind: 'records',
    records: [
      { type: 'SRV', port: 5432, target: 'db-0.db.shop.svc.cluster.local' },
      { type: 'SRV', port: 5432, target: '10-0-0-2.db.shop.svc.cluster.local' },
    ],
  });
  assert.deepEqual(found('_http._udp.web.shop.svc.cluster.local', 'SRV'), { kind: 'missing' });
  assert.deepEqual(found('far.shop.svc.cluster.local'), { kind: 'alias', target: 'example.com' });
});
