import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Node, Pod } from '@holdfast/api';
import fc from 'fast-check';
import { type EventKind, type EventSubjects, helps } from '../framework/plugin.ts';
import { buildNode, buildPod, type PodShape } from '../testing/builders.ts';
import { clusterOf, deciderFor, profileFor } from '../testing/cluster.ts';
import type { ClusterCache } from './cluster-cache.ts';
import { createPodInfo, type PodInfo } from './pod-info.ts';

const ZONE = 'topology.kubernetes.io/zone';
const HOST = 'kubernetes.io/hostname';
const PRIORITY = 5;

const nodeShapes = fc.record({
  cpu: fc.constantFrom(1, 2, 4),
  zone: fc.constantFrom('z1', 'z2', undefined),
  disk: fc.constantFrom('ssd', 'hdd'),
  cordoned: fc.constantFrom(false, false, true),
  tainted: fc.constantFrom(false, false, true),
});
const placedShapes = fc.record({
  node: fc.nat(2),
  app: fc.constantFrom('a', 'b'),
  cpu: fc.constantFrom(0, 1, 2),
  priority: fc.constantFrom(1, 9),
  port: fc.constantFrom(false, true),
  /** Repels the incoming pod. */
  repels: fc.constantFrom(false, false, true),
});
const incomingShapes = fc.record({
  app: fc.constantFrom('a', 'b'),
  cpu: fc.constantFrom(0, 1, 2, 3),
  near: fc.constantFrom(undefined, undefined, 'a', 'b'),
  away: fc.constantFrom(undefined, undefined, 'a', 'b'),
  spread: fc.constantFrom(undefined, undefined, ZONE, HOST),
  disk: fc.constantFrom(undefined, 'ssd'),
  port: fc.constantFrom(false, false, true),
});
const events = fc.oneof(
  fc.record({ kind: fc.constant('removes' as const), at: fc.nat(7) }),
  fc.record({ kind: fc.constant('places' as const), pod: placedShapes }),
  fc.record({ kind: fc.constant('changes' as const), at: fc.nat(2), node: nodeShapes }),
  fc.record({ kind: fc.constant('adds' as const), node: nodeShapes }),
  fc.record({ kind: fc.constant('loses' as const), at: fc.nat(2) }),
);
type NodeShape = typeof nodeShapes extends fc.Arbitrary<infer T> ? T : never;
type Placed = typeof placedShapes extends fc.Arbitrary<infer T> ? T : never;
type Incoming = typeof incomingShapes extends fc.Arbitrary<infer T> ? T : never;
type Change = typeof events extends fc.Arbitrary<infer T> ? T : never;

const nodeOf = ({ cpu, zone, disk, cordoned, tainted }: NodeShape, name: string): Node =>
  buildNode(name, {
    cpu: String(cpu),
    labels: { disk, ...(zone === undefined ? {} : { [ZONE]: zone }) },
    unschedulable: cordoned,
    taints: tainted ? [{ key: 'k', value: 'v', effect: 'NoSchedule' }] : [],
  });

const containers = (cpu: number, port: boolean): Pod['spec']['containers'] => [
  {
    name: 'c',
    image: 'i',
    resources: { requests: { cpu: String(cpu) } },
    ports: port ? [{ containerPort: 80, hostPort: 80 }] : [],
  },
];

const termFor = (app: string) => ({
  requiredDuringSchedulingIgnoredDuringExecution: [{ topologyKey: HOST, labelSelector: { matchLabels: { app } } }],
});

function placedOf({ node, app, cpu, priority, port, repels }: Placed, name: string, incoming: Incoming): Pod {
  const shape: PodShape = {
    nodeName: `n${node}`,
    labels: { app },
    spec: { priority, containers: containers(cpu, port) },
    ...(repels ? { affinity: { podAntiAffinity: termFor(incoming.app) } } : {}),
  };
  return buildPod(name, shape);
}

function incomingOf({ app, cpu, near, away, spread, disk, port }: Incoming): PodInfo {
  const affinity = {
    ...(near === undefined ? {} : { podAffinity: termFor(near) }),
    ...(away === undefined ? {} : { podAntiAffinity: termFor(away) }),
  };
  const constraint = { maxSkew: 1, whenUnsatisfiable: 'DoNotSchedule', labelSelector: { matchLabels: { app } } };
  const spec = {
    priority: PRIORITY,
    containers: containers(cpu, port),
    ...(spread === undefined ? {} : { topologySpreadConstraints: [{ ...constraint, topologyKey: spread }] }),
    ...(disk === undefined ? {} : { nodeSelector: { disk } }),
  };
  return createPodInfo(buildPod('incoming', { labels: { app }, affinity, spec }));
}

type Told = { readonly [K in EventKind]: { readonly kind: K; readonly about: EventSubjects[K] } }[EventKind];

/** Changes the cluster and returns the events that a scheduler gets. */
function apply(cluster: ClusterCache, change: Change, incoming: Incoming): readonly Told[] {
  switch (change.kind) {
    case 'removes': {
      const gone = cluster.removePod(`uid-default-p${change.at}`);
      return gone === undefined ? [] : [{ kind: 'pod-removed', about: gone }];
    }
    case 'places': {
      const about = createPodInfo(placedOf(change.pod, 'late', incoming));
      return cluster.setPod(about).length === 0 ? [] : [{ kind: 'pod-placed', about }];
    }
    case 'loses': {
      const gone = cluster.removeNode(`n${change.at}`);
      return gone === undefined ? [] : [{ kind: 'node-removed', about: gone }];
    }
    case 'adds':
    case 'changes': {
      const name = change.kind === 'adds' ? 'n9' : `n${change.at}`;
      const kinds = cluster.setNode(nodeOf(change.node, name));
      const about = cluster.node(name);
      return about === undefined ? [] : kinds.map((kind) => ({ kind, about }));
    }
  }
}

function isWoken(cluster: ClusterCache, pod: PodInfo, plugins: ReadonlySet<string>, told: readonly Told[]): boolean {
  const { hints } = profileFor(cluster);
  return told.some(({ kind, about }) =>
    [...plugins].some((plugin) => {
      const known = hints.get(plugin);
      return known === undefined || helps(known, kind, pod, about);
    }),
  );
}

test('[PRIO-17] every event that makes a waiting pod fit wakes it', () => {
  let freed = 0;
  const scenes = fc.record({
    nodes: fc.array(nodeShapes, { minLength: 1, maxLength: 3 }),
    placed: fc.array(placedShapes, { maxLength: 8 }),
    incoming: incomingShapes,
    change: events,
  });
  fc.assert(
    fc.property(scenes, ({ nodes, placed, incoming, change }) => {
      const cluster = clusterOf(
        nodes.map((shape, i) => nodeOf(shape, `n${i}`)),
        placed.map((shape, i) => placedOf({ ...shape, node: shape.node % nodes.length }, `p${i}`, incoming)),
      );
      const pod = incomingOf(incoming);
      const decide = deciderFor(cluster);
      const before = decide(pod);
      assert.ok(!(before instanceof Promise));
      if (before.kind !== 'refuse' || before.preemption.kind === 'preempt') return;
      const told = apply(cluster, change, incoming);
      const after = decide(pod);
      assert.ok(!(after instanceof Promise));
      if (after.kind !== 'place') return;
      freed++;
      assert.ok(isWoken(cluster, pod, before.plugins, told), `${before.message} -> ${JSON.stringify(change)}`);
    }),
    { numRuns: 600 },
  );
  assert.ok(freed > 0, 'some change helped');
});

test('a pod with affinity to its own labels is woken when the last matching pod is removed: it may then start anywhere', () => {
  const labels = { app: 'a' };
  const cluster = clusterOf(
    [buildNode('small', { cpu: '1' }), buildNode('large')],
    [buildPod('last', { nodeName: 'small', labels })],
  );
  const near = (app: string): PodInfo =>
    createPodInfo(buildPod('incoming', { cpu: '3', labels, affinity: { podAffinity: termFor(app) } }));
  const [like, other] = [near('a'), near('b')];
  const decide = deciderFor(cluster);
  const before = decide(like);
  assert.ok('plugins' in before);
  const about = cluster.removePod('uid-default-last');
  assert.ok(about !== undefined);
  assert.deepEqual(decide(like), { kind: 'place', nodeName: 'large', waits: [] });
  assert.ok(isWoken(cluster, like, before.plugins, [{ kind: 'pod-removed', about }]));
  assert.ok(!isWoken(cluster, other, before.plugins, [{ kind: 'pod-removed', about }]));
});
