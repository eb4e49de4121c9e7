import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Namespace, Node, Pod, PodAffinityTerm, Service } from '@holdfast/api';
import fc from 'fast-check';
import { buildNode, buildPod } from '../testing/builders.ts';
import { clusterOf, profileFor } from '../testing/cluster.ts';
import { totalScores } from './choose-node.ts';
import { createPodInfo } from './pod-info.ts';

const ZONE = 'topology.kubernetes.io/zone';
const HOST = 'kubernetes.io/hostname';
const MEBI = 1024 * 1024;
const TEAMS: Readonly<Record<string, string>> = { default: 'red', other: 'blue' };

const sometimes = <T>(...values: readonly T[]): fc.Arbitrary<T | undefined> => fc.constantFrom(undefined, ...values);

/** Selected pods, topology and weight; a negative weight repels. */
const wishes = fc.record({
  app: fc.constantFrom('a', 'b'),
  key: fc.constantFrom(ZONE, HOST),
  weight: fc.constantFrom(-100, -29, 1, 29, 57, 100),
  /** Default: the namespace of the pod with the term. '*' = all namespaces. */
  team: sometimes('*', 'red', 'blue'),
});
type Wish = typeof wishes extends fc.Arbitrary<infer T> ? T : never;

const nodeShapes = fc.record({
  cpu: fc.integer({ min: 1, max: 7 }),
  memory: fc.integer({ min: 500, max: 9_000 }),
  zone: sometimes('z1', 'z2', 'z3'),
  disk: fc.constantFrom('ssd', 'hdd'),
  softTaints: fc.subarray(['x', 'y']),
  image: sometimes(10, 60, 700, 3_000),
  feasible: fc.boolean(),
});
const sizes = fc.record({ cpu: sometimes(50, 300, 1_100), memory: sometimes(64, 300, 2_000) });
const placedShapes = fc.record({
  node: fc.nat(4),
  app: fc.constantFrom('a', 'b'),
  namespace: fc.constantFrom('default', 'other'),
  size: sizes,
  near: fc.array(wishes, { maxLength: 1 }),
  prefers: fc.array(wishes, { maxLength: 2 }),
  ending: fc.boolean(),
});
const incomingShapes = fc.record({
  app: fc.constantFrom('a', 'b'),
  containers: fc.array(sizes, { minLength: 1, maxLength: 2 }),
  init: fc.option(sizes, { nil: undefined }),
  overhead: sometimes(150),
  tolerates: fc.subarray(['x', 'y']),
  disks: fc.array(fc.record({ disk: fc.constantFrom('ssd', 'hdd'), weight: fc.integer({ min: 1, max: 100 }) }), {
    maxLength: 2,
  }),
  prefers: fc.array(wishes, { maxLength: 2 }),
  spreads: fc.uniqueArray(fc.record({ key: fc.constantFrom(ZONE, HOST), maxSkew: fc.integer({ min: 1, max: 4 }) }), {
    selector: ({ key }) => key,
    maxLength: 2,
  }),
  served: fc.boolean(),
});
type Size = typeof sizes extends fc.Arbitrary<infer T> ? T : never;
type NodeShape = typeof nodeShapes extends fc.Arbitrary<infer T> ? T : never;
type Placed = typeof placedShapes extends fc.Arbitrary<infer T> ? T : never;
type Incoming = typeof incomingShapes extends fc.Arbitrary<infer T> ? T : never;
interface Scene {
  readonly nodes: readonly NodeShape[];
  readonly placed: readonly Placed[];
  readonly pod: Incoming;
}

const labelsOf = (node: NodeShape, i: number): Readonly<Record<string, string>> => ({
  disk: node.disk,
  [HOST]: `n${i}`,
  ...(node.zone === undefined ? {} : { [ZONE]: node.zone }),
});

function nodeOf(shape: NodeShape, i: number): Node {
  return buildNode(`n${i}`, {
    cpu: String(shape.cpu),
    memory: `${shape.memory}Mi`,
    labels: labelsOf(shape, i),
    taints: shape.softTaints.map((value) => ({ key: 'k', value, effect: 'PreferNoSchedule' })),
    images: shape.image === undefined ? {} : { 'app:v1': shape.image * MEBI },
  });
}

function containerOf({ cpu, memory }: Size, i: number): Pod['spec']['containers'][number] {
  const requests = {
    ...(cpu === undefined ? {} : { cpu: `${cpu}m` }),
    ...(memory === undefined ? {} : { memory: `${memory}Mi` }),
  };
  return { name: `c${i}`, image: 'app:v1', resources: { requests } };
}

function termOf({ app, key, team }: Wish): PodAffinityTerm {
  const selector = team === '*' ? {} : { matchLabels: { team: team ?? '' } };
  return {
    topologyKey: key,
    labelSelector: { matchLabels: { app } },
    ...(team === undefined ? {} : { namespaceSelector: selector }),
  };
}

function affinityOf(prefers: readonly Wish[], near: readonly Wish[]): NonNullable<Pod['spec']['affinity']> {
  const weighted = (sign: 1 | -1) => ({
    preferredDuringSchedulingIgnoredDuringExecution: prefers
      .filter(({ weight }) => Math.sign(weight) === sign)
      .map((wish) => ({ weight: Math.abs(wish.weight), podAffinityTerm: termOf(wish) })),
  });
  const required = { requiredDuringSchedulingIgnoredDuringExecution: near.map(termOf) };
  return { podAffinity: { ...weighted(1), ...required }, podAntiAffinity: weighted(-1) };
}

function placedPod({ node, app, namespace, size, prefers, near, ending }: Placed, i: number, nodes: number): Pod {
  const pod = buildPod(`p${i}`, {
    namespace,
    labels: { app },
    nodeName: `n${node % nodes}`,
    affinity: affinityOf(prefers, near),
    spec: { containers: [containerOf(size, 0)] },
  });
  return ending ? { ...pod, metadata: { ...pod.metadata, deletionTimestamp: '2026-01-01T00:00:00Z' } } : pod;
}

function incomingPod(pod: Incoming): Pod {
  return buildPod('incoming', {
    labels: { app: pod.app },
    affinity: {
      ...affinityOf(pod.prefers, []),
      nodeAffinity: {
        preferredDuringSchedulingIgnoredDuringExecution: pod.disks.map(({ disk, weight }) => ({
          weight,
          preference: { matchExpressions: [{ key: 'disk', operator: 'In', values: [disk] }] },
        })),
      },
    },
    spec: {
      containers: pod.containers.map(containerOf),
      ...(pod.init === undefined ? {} : { initContainers: [containerOf(pod.init, 9)] }),
      ...(pod.overhead === undefined ? {} : { overhead: { cpu: `${pod.overhead}m` } }),
      tolerations: pod.tolerates.map((value) => ({ key: 'k', value, effect: 'PreferNoSchedule' })),
      topologySpreadConstraints: pod.spreads.map(({ key, maxSkew }) => ({
        maxSkew,
        topologyKey: key,
        whenUnsatisfiable: 'ScheduleAnyway',
        labelSelector: { matchLabels: { app: pod.app } },
      })),
    },
  });
}

/** Sums the amounts of a pod, with `unset` for containers without a request. */
function amount(resource: keyof Size, pod: Pick<Incoming, 'containers' | 'init' | 'overhead'>, unset: number): number {
  const of = (size: Size | undefined): number => (size === undefined ? 0 : (size[resource] ?? unset));
  const together = pod.containers.reduce((sum, each) => sum + of(each), 0);
  return Math.max(together, of(pod.init)) + (resource === 'cpu' ? (pod.overhead ?? 0) : 0);
}

const UNSET = { cpu: 100, memory: 200 };

function used(resource: keyof Size, at: number, { nodes, placed, pod }: Scene, unset: number): number {
  const here = placed.filter(({ node }) => node % nodes.length === at);
  return here.reduce(
    (sum, { size }) => sum + (size[resource] ?? unset),
    amount(resource, { containers: pod.containers, init: pod.init, overhead: pod.overhead }, unset),
  );
}

function naiveResources(scene: Scene, at: number): number {
  const node = scene.nodes[at];
  assert.ok(node !== undefined);
  const capacity = { cpu: node.cpu * 1_000, memory: node.memory };
  const [cpu, memory] = (['cpu', 'memory'] as const).map((resource) => {
    const all = capacity[resource];
    const taken = used(resource, at, scene, UNSET[resource]);
    return {
      free: taken > all ? 0 : Math.floor(((all - taken) * 100) / all),
      share: Math.min(1, used(resource, at, scene, 0) / all),
    };
  });
  assert.ok(cpu !== undefined && memory !== undefined);
  const balanced = Math.floor((1 - Math.abs((cpu.share - memory.share) / 2)) * 100);
  return Math.floor((cpu.free + memory.free) / 2) + balanced;
}

function naiveImages({ nodes, pod }: Scene, at: number): number {
  const containers = pod.containers.length + (pod.init === undefined ? 0 : 1);
  const share = nodes.filter(({ image }) => image !== undefined).length / nodes.length;
  // The first of different reports counts.
  const size = nodes[at]?.image === undefined ? 0 : (nodes.find(({ image }) => image !== undefined)?.image ?? 0);
  const each = Math.floor(size * MEBI * share);
  const [least, most] = [23 * MEBI, 1_000 * MEBI * containers];
  return Math.floor((100 * (Math.min(Math.max(each * containers, least), most) - least)) / (most - least));
}

const byHighest = (raw: readonly number[]): readonly number[] => {
  const highest = Math.max(...raw);
  return raw.map((each) => (highest === 0 ? 0 : Math.floor((100 * each) / highest)));
};

/** `by`: the pod with the term; `about`: the other pod. */
function means(wish: Wish, by: string, about: { readonly app: string; readonly namespace: string }): boolean {
  if (wish.app !== about.app) return false;
  if (wish.team === undefined) return by === about.namespace;
  return wish.team === '*' || TEAMS[about.namespace] === wish.team;
}

function naiveWishes({ nodes, placed, pod }: Scene, at: number): number {
  let sum = 0;
  for (const other of placed) {
    const there = other.node % nodes.length;
    const add = (wish: Wish, weight: number): void => {
      const [a, b] = [at, there].map((i) => labelsOf(nodes[i] as NodeShape, i)[wish.key]);
      if (a !== undefined && a === b) sum += weight;
    };
    const me = { app: pod.app, namespace: 'default' };
    for (const wish of pod.prefers) if (means(wish, 'default', other)) add(wish, wish.weight);
    for (const wish of other.prefers) if (means(wish, other.namespace, me)) add(wish, wish.weight);
    for (const wish of other.near) if (means(wish, other.namespace, me)) add(wish, 1);
  }
  return sum;
}

const byRange = (raw: readonly number[]): readonly number[] => {
  const [least, most] = [Math.min(...raw), Math.max(...raw)];
  return raw.map((each) => (most === least ? 0 : Math.floor(100 * ((each - least) / (most - least)))));
};

const DEFAULTS = [
  { key: HOST, maxSkew: 3 },
  { key: ZONE, maxSkew: 5 },
];

function naiveSpread(scene: Scene, feasible: readonly number[]): readonly number[] {
  const { nodes, placed, pod } = scene;
  const own = pod.spreads.length > 0;
  const constraints = own ? pod.spreads : DEFAULTS.filter(() => pod.served);
  if (constraints.length === 0) return feasible.map(() => 0);
  const labels = nodes.map(labelsOf);
  const takesPart = (i: number): boolean => !own || constraints.every(({ key }) => labels[i]?.[key] !== undefined);
  const counted = feasible.filter(takesPart);
  const raw = feasible.map((i) => {
    let sum = 0;
    for (const { key, maxSkew } of constraints) {
      const domain = labels[i]?.[key];
      if (domain === undefined) continue;
      const mates = placed.filter(
        ({ node, app, namespace, ending }) =>
          !ending &&
          app === pod.app &&
          namespace === 'default' &&
          takesPart(node % nodes.length) &&
          labels[node % nodes.length]?.[key] === domain,
      );
      const domains = key === HOST ? counted.length : new Set(counted.map((each) => labels[each]?.[key])).size;
      sum += mates.length * Math.log(domains + 2) + maxSkew - 1;
    }
    return takesPart(i) ? Math.round(sum) : undefined;
  });
  const present = raw.filter((each) => each !== undefined);
  const [least, most] = [Math.min(...present), Math.max(0, ...present)];
  return raw.map((each) => {
    if (each === undefined) return 0;
    return most === 0 ? 100 : Math.floor((100 * (most + least - each)) / most);
  });
}

/** Returns how far each node is behind the best one. */
const behind = (totals: readonly number[]): readonly number[] => totals.map((each) => Math.max(...totals) - each);

function naiveTotals(scene: Scene, feasible: readonly number[]): readonly number[] {
  const { nodes, pod } = scene;
  const taints = byHighest(
    feasible.map((i) => nodes[i]?.softTaints.filter((each) => !pod.tolerates.includes(each)).length ?? 0),
  );
  const disks = byHighest(
    feasible.map((i) => pod.disks.reduce((sum, { disk, weight }) => sum + (disk === nodes[i]?.disk ? weight : 0), 0)),
  );
  const near = byRange(feasible.map((i) => naiveWishes(scene, i)));
  const spread = naiveSpread(scene, feasible);
  return feasible.map(
    (node, i) =>
      naiveResources(scene, node) +
      naiveImages(scene, node) -
      3 * (taints[i] ?? 0) +
      2 * ((disks[i] ?? 0) + (near[i] ?? 0) + (spread[i] ?? 0)),
  );
}

const namespaceOf = (name: string): Namespace => ({
  apiVersion: 'v1',
  kind: 'Namespace',
  metadata: { name, labels: { team: TEAMS[name] ?? '' } },
  spec: {},
  status: {},
});
const serviceFor = (app: string): Service => ({
  apiVersion: 'v1',
  kind: 'Service',
  metadata: { name: 's', namespace: 'default' },
  spec: { selector: { app } },
  status: { loadBalancer: {} },
});

test('[SPREAD-41] [SPREAD-44] [SPREAD-48] total scores equal the reference rules: resources, images, taints, node and pod affinity, spread', () => {
  const scenes = fc.record({
    nodes: fc.array(nodeShapes, { minLength: 2, maxLength: 5 }),
    placed: fc.array(placedShapes, { maxLength: 8 }),
    pod: incomingShapes,
  });
  fc.assert(
    fc.property(scenes, (scene) => {
      const { nodes, placed, pod } = scene;
      const cluster = clusterOf(nodes.map(nodeOf));
      for (const name of Object.keys(TEAMS)) cluster.setNamespace(namespaceOf(name));
      for (const [i, each] of placed.entries()) cluster.setPod(createPodInfo(placedPod(each, i, nodes.length)));
      if (pod.served) cluster.owners.setService(serviceFor(pod.app));
      const feasible = nodes.flatMap((node, i) => (node.feasible ? [i] : []));
      if (feasible.length < 2) return;
      const cycle = { pod: createPodInfo(incomingPod(pod)), snapshot: cluster };
      const infos = feasible.flatMap((i) => cluster.node(`n${i}`) ?? []);
      const totals = totalScores(cycle, infos, { profile: profileFor(cluster) });
      assert.deepEqual(behind(totals), behind(naiveTotals(scene, feasible)));
    }),
    { numRuns: 600 },
  );
});
