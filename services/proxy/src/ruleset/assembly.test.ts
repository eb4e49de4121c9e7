import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { MemoryFilter } from '../filter/memory-filter.ts';
import { serviceFragment } from '../services/service-fragment.ts';
import { type EndpointSketch, node, type ServiceSketch, service, slice } from '../testing/builders.ts';
import { routePacket } from '../testing/route-packet.ts';
import { Assembly } from './assembly.ts';
import { BASE_UNIT, baseFragment } from './base.ts';
import type { Fragment } from './fragment.ts';
import type { Table } from './model.ts';

const OPTIONS = { clusterCidrs: ['10.244.0.0/16'], masqueradeAll: false, nodePortAddresses: [] };
const NAMES = ['a', 'b', 'c'] as const;
const NODE = '192.0.2.1';

const endpointArb: fc.Arbitrary<EndpointSketch> = fc.record({
  address: fc.integer({ min: 2, max: 12 }).map((n) => `10.244.0.${n}`),
  node: fc.constantFrom('a', 'b'),
  ready: fc.boolean(),
});

const sketchArb: fc.Arbitrary<ServiceSketch> = fc.record(
  {
    type: fc.constantFrom('ClusterIP', 'NodePort', 'LoadBalancer'),
    sessionAffinity: fc.constantFrom('None', 'ClientIP'),
    internalTrafficPolicy: fc.constantFrom('Cluster', 'Local'),
    externalTrafficPolicy: fc.constantFrom('Cluster', 'Local'),
    // All services may name one external address: the units then share an element.
    externalIPs: fc.constantFrom([], ['198.51.100.1']),
    loadBalancerSourceRanges: fc.constantFrom([], ['203.0.113.0/24']),
  },
  { requiredKeys: [] },
);

/** A service as it is after a step; `undefined`: it is deleted. */
const stateArb = fc.option(fc.tuple(sketchArb, fc.array(endpointArb, { maxLength: 9 })), { nil: undefined });
const stepArb = fc.array(fc.tuple(fc.constantFrom(...NAMES), stateArb), { minLength: 1, maxLength: 3 });

type State = readonly [ServiceSketch, readonly EndpointSketch[]] | undefined;

function fragmentOf(name: string, state: State): Fragment | undefined {
  if (state === undefined) return undefined;
  const i = NAMES.findIndex((each) => each === name);
  const [sketch, endpoints] = state;
  const ports = [{ port: 80, nodePort: 30_000 + i }];
  const each = service({
    ...sketch,
    name,
    clusterIP: `10.96.0.${i + 1}`,
    ports,
    ingress: [{ ip: `198.51.100.${i + 7}` }],
  });
  return serviceFragment({ service: each, slices: endpoints.length === 0 ? [] : [slice(endpoints)] }, 'ip', {
    nodeName: 'a',
  });
}

function start(): Assembly {
  const assembly = new Assembly('ip');
  assembly.replace([[BASE_UNIT, baseFragment('ip', { node: node('a') }, OPTIONS)]]);
  return assembly;
}

const plain = ({ sets, elements, chains }: Table) => ({
  sets: Object.fromEntries(sets),
  elements: Object.fromEntries(
    [...elements].filter(([, members]) => members.size > 0).map(([set, members]) => [set, Object.fromEntries(members)]),
  ),
  chains: Object.fromEntries(chains),
});

/** Where every flow goes that a client may begin, by the whole range of random choices. */
function routes(table: Table): readonly string[] {
  const destinations = [
    ...NAMES.flatMap((_, i) => [
      [`10.96.0.${i + 1}`, 80] as const,
      [`198.51.100.${i + 7}`, 80] as const,
      [NODE, 30_000 + i] as const,
    ]),
    ['198.51.100.1', 80] as const,
  ];
  return destinations.flatMap(([destination, port]) =>
    ['10.244.0.2', '203.0.113.5', '192.0.2.99', NODE].map((source) => {
      const fates = Array.from({ length: 40 }, (_, i) =>
        routePacket({ source, destination, port, protocol: 'TCP' }, { table, own: new Set([NODE]), random: i / 40 }),
      );
      return [...new Set(fates.map((fate) => JSON.stringify(fate)))].toSorted().join(' ');
    }),
  );
}

test('the changes lead from one table to the next, and to the same routes as a fresh table', async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(stepArb, { minLength: 1, maxLength: 6 }), async (steps) => {
      const assembly = start();
      const filter = new MemoryFilter();
      await filter.reset([assembly.table()]);
      const states = new Map<string, State>();
      for (const step of steps) {
        const latest = new Map<string, State>(step);
        const change = assembly.replace([...latest].map(([name, state]) => [name, fragmentOf(name, state)] as const));
        await filter.apply(change === undefined ? [] : [change]);
        for (const [name, state] of latest) states.set(name, state);
        const applied = filter.tables.get('ip');
        assert.ok(applied !== undefined);
        assert.deepEqual(plain(applied), plain(assembly.table()));
      }
      const fresh = start();
      fresh.replace([...states].map(([name, state]) => [name, fragmentOf(name, state)] as const));
      assert.deepEqual(routes(assembly.table()), routes(fresh.table()));
    }),
    { numRuns: 60 },
  );
});

test('a change names chains and targets of its own service alone', () => {
  fc.assert(
    fc.property(stateArb, stateArb, stateArb, (other, before, after) => {
      const assembly = start();
      // The other service claims no shared address.
      const apart: State = other === undefined ? undefined : [{ ...other[0], externalIPs: [] }, other[1]];
      assembly.replace([
        ['a', fragmentOf('a', apart)],
        ['b', fragmentOf('b', before)],
      ]);
      const change = assembly.replace([['b', fragmentOf('b', after)]]);
      const chains = [...(change?.addChains ?? []), ...(change?.rules ?? [])].map(([name]) => name);
      const foreign = [...chains, ...(change?.removeChains ?? [])].filter((name) => !name.includes('/default/b/'));
      assert.deepEqual(foreign, []);
      assert.ok((change?.addElements ?? []).every(({ value }) => !value.includes('/default/a/')));
    }),
  );
});

test('a fragment that stays as it is changes nothing', () => {
  fc.assert(
    fc.property(stateArb, (state) => {
      const assembly = start();
      assembly.replace([['a', fragmentOf('a', state)]]);
      assert.equal(assembly.replace([['a', fragmentOf('a', state)]]), undefined);
    }),
  );
});
