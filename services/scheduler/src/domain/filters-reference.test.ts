import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Container, Namespace, Node, Pod, PodAffinityTerm, TopologySpreadConstraint } from '@holdfast/api';
import { createSeededRandom } from '@holdfast/platform';
import fc from 'fast-check';
import { buildNode, buildPod } from '../testing/builders.ts';
import { clusterOf, profileFor } from '../testing/cluster.ts';
import { createPodInfo } from './pod-info.ts';
import { findFeasible, rejectionsOf } from './schedule.ts';

const ZONE = 'topology.kubernetes.io/zone';
const HOST = 'kubernetes.io/hostname';
const GPU = 'example.com/gpu';
const TEAMS: Readonly<Record<string, string>> = { default: 'red', other: 'blue' };

const sometimes = <T>(...values: readonly T[]): fc.Arbitrary<T | undefined> => fc.constantFrom(undefined, ...values);
/** One in five: a pod refused for the first reason does not test the others. */
const rarely = <T>(arbitrary: fc.Arbitrary<T>): fc.Arbitrary<T | undefined> =>
  fc.oneof({ weight: 4, arbitrary: fc.constant(undefined) }, { weight: 1, arbitrary });
const apps = fc.constantFrom('a', 'b');
const versions = sometimes('1', '2');

const nodeShapes = fc.record({
  cpu: fc.constantFrom(2, 4, 8),
  gpu: fc.constantFrom(0, 1, 2),
  zone: fc.constantFrom('z1', 'z2', 'z1', 'z2', undefined),
  size: sometimes(3, 12),
  hard: rarely(fc.constantFrom('x', 'y')),
  cordoned: rarely(fc.constant(true)),
});
const ports = fc.record({
  port: fc.constantFrom(80, 81),
  ip: sometimes('0.0.0.0', '10.0.0.1', '10.0.0.2'),
  protocol: sometimes('TCP', 'UDP'),
});
const needs = fc.record({
  cpu: fc.constantFrom(100, 500, 900),
  init: sometimes(300, 1_500),
  sidecar: sometimes(200),
  /** The sidecar starts before the init step. */
  sidecarFirst: fc.boolean(),
  overhead: sometimes(250),
  gpu: rarely(fc.constant(1)),
  port: rarely(ports),
});
/** Affinity terms: required, for or against co-location. */
const terms = fc.record({
  app: apps,
  key: fc.constantFrom(ZONE, HOST),
  away: fc.boolean(),
  team: sometimes('*', 'red', 'blue'),
  version: sometimes<'same' | 'other'>('same', 'other'),
});
const spreads = fc.record({
  key: fc.constantFrom(ZONE, HOST),
  maxSkew: fc.constantFrom(1, 1, 2),
  minDomains: sometimes(2, 3),
  sameVersion: fc.boolean(),
  ignoresAffinity: fc.boolean(),
  honorsTaints: fc.boolean(),
});
const selectors = rarely(
  fc.constantFrom<readonly [string, readonly string[]]>(
    ['In', ['3']],
    ['NotIn', ['3']],
    ['Exists', []],
    ['DoesNotExist', []],
    ['Gt', ['5']],
    ['Lt', ['5']],
  ),
);
const podShapes = fc.record({
  app: apps,
  version: versions,
  namespace: fc.constantFrom('default', 'other'),
  needs,
  terms: fc.array(terms, { maxLength: 2 }),
  spreads: fc.uniqueArray(spreads, { selector: ({ key }) => key, maxLength: 2 }),
  size: selectors,
  tolerates: sometimes('x', '*'),
  node: fc.nat(3),
  ending: fc.boolean(),
});
type NodeShape = typeof nodeShapes extends fc.Arbitrary<infer T> ? T : never;
type PodShape = typeof podShapes extends fc.Arbitrary<infer T> ? T : never;
type Needs = PodShape['needs'];
type Term = PodShape['terms'][number];
type Spread = PodShape['spreads'][number];

function labelsOf({ zone, size }: NodeShape, i: number): Readonly<Record<string, string>> {
  return {
    [HOST]: `n${i}`,
    ...(zone === undefined ? {} : { [ZONE]: zone }),
    ...(size === undefined ? {} : { size: String(size) }),
  };
}

function nodeOf(shape: NodeShape, i: number): Node {
  return buildNode(`n${i}`, {
    cpu: String(shape.cpu),
    unschedulable: shape.cordoned === true,
    labels: labelsOf(shape, i),
    taints: shape.hard === undefined ? [] : [{ key: 'k', value: shape.hard, effect: 'NoExecute' }],
    resources: shape.gpu === 0 ? {} : { [GPU]: String(shape.gpu) },
  });
}

function containersOf(need: Needs): Pick<Pod['spec'], 'containers' | 'initContainers' | 'overhead'> {
  const container = (name: string, cpu: number): Container => ({
    name,
    image: 'i',
    resources: { requests: { cpu: `${cpu}m` } },
  });
  const { port, gpu } = need;
  const opened =
    port === undefined ? [] : [{ containerPort: 1, hostPort: port.port, hostIP: port.ip, protocol: port.protocol }];
  const requests = { cpu: `${need.cpu}m`, ...(gpu === undefined ? {} : { [GPU]: String(gpu) }) };
  const steps = [
    ...(need.init === undefined ? [] : [container('init', need.init)]),
    ...(need.sidecar === undefined ? [] : [{ ...container('side', need.sidecar), restartPolicy: 'Always' }]),
  ];
  return {
    containers: [{ name: 'c', image: 'i', resources: { requests }, ports: JSON.parse(JSON.stringify(opened)) }],
    initContainers: need.sidecarFirst ? steps.toReversed() : steps,
    ...(need.overhead === undefined ? {} : { overhead: { cpu: `${need.overhead}m` } }),
  };
}

function termOf({ app, key, team, version }: Term): PodAffinityTerm {
  return {
    topologyKey: key,
    labelSelector: { matchLabels: { app } },
    ...(team === undefined ? {} : { namespaceSelector: team === '*' ? {} : { matchLabels: { team } } }),
    ...(version === undefined ? {} : { [version === 'same' ? 'matchLabelKeys' : 'mismatchLabelKeys']: ['version'] }),
  };
}

function spreadOf({ key, maxSkew, ...spread }: Spread, app: string): TopologySpreadConstraint {
  return {
    topologyKey: key,
    maxSkew,
    whenUnsatisfiable: 'DoNotSchedule',
    labelSelector: { matchLabels: { app } },
    nodeAffinityPolicy: spread.ignoresAffinity ? 'Ignore' : 'Honor',
    nodeTaintsPolicy: spread.honorsTaints ? 'Honor' : 'Ignore',
    ...(spread.minDomains === undefined ? {} : { minDomains: spread.minDomains }),
    ...(spread.sameVersion ? { matchLabelKeys: ['version'] } : {}),
  };
}

function podOf(shape: PodShape, name: string, nodeName?: string): Pod {
  const required = (away: boolean) => ({
    requiredDuringSchedulingIgnoredDuringExecution: shape.terms.filter((each) => each.away === away).map(termOf),
  });
  const terms = shape.size === undefined ? [] : [{ key: 'size', operator: shape.size[0], values: [...shape.size[1]] }];
  const pod = buildPod(name, {
    namespace: shape.namespace,
    labels: { app: shape.app, ...(shape.version === undefined ? {} : { version: shape.version }) },
    ...(nodeName === undefined ? {} : { nodeName }),
    affinity: {
      podAffinity: required(false),
      podAntiAffinity: required(true),
      ...(terms.length === 0
        ? {}
        : {
            nodeAffinity: {
              requiredDuringSchedulingIgnoredDuringExecution: { nodeSelectorTerms: [{ matchExpressions: terms }] },
            },
          }),
    },
    spec: {
      ...containersOf(shape.needs),
      topologySpreadConstraints: shape.spreads.map((each) => spreadOf(each, shape.app)),
      tolerations:
        shape.tolerates === undefined
          ? []
          : [shape.tolerates === '*' ? { operator: 'Exists' } : { key: 'k', operator: 'Equal', value: 'x' }],
    },
  });
  if (!shape.ending) return pod;
  return { ...pod, metadata: { ...pod.metadata, deletionTimestamp: '2026-01-01T00:00:00Z' } };
}

/** The final need, or that of the largest init step. */
function cpuOf({ cpu, init = 0, sidecar = 0, sidecarFirst, overhead = 0 }: Needs): number {
  return Math.max(cpu + sidecar, sidecarFirst ? init + sidecar : init) + overhead;
}

function portsCollide(a: Needs['port'], b: Needs['port']): boolean {
  if (a === undefined || b === undefined || a.port !== b.port) return false;
  if ((a.protocol ?? 'TCP') !== (b.protocol ?? 'TCP')) return false;
  const [x, y] = [a.ip ?? '0.0.0.0', b.ip ?? '0.0.0.0'];
  return x === y || x === '0.0.0.0' || y === '0.0.0.0';
}

const sizeFits = ({ size: wanted }: PodShape, { size }: NodeShape): boolean => {
  if (wanted === undefined) return true;
  const [operator, [value]] = wanted;
  if (operator === 'In') return String(size) === value;
  if (operator === 'NotIn') return String(size) !== value;
  if (operator === 'DoesNotExist') return size === undefined;
  if (operator === 'Gt') return size !== undefined && size > 5;
  if (operator === 'Lt') return size !== undefined && size < 5;
  return size !== undefined;
};

const isTolerated = ({ tolerates }: PodShape, { hard }: NodeShape): boolean =>
  hard === undefined || tolerates === '*' || tolerates === hard;

/** True when a term of `by` concerns `other`. */
function means(term: Term, by: PodShape, other: PodShape): boolean {
  if (term.app !== other.app) return false;
  if (by.version !== undefined && term.version === 'same' && other.version !== by.version) return false;
  if (by.version !== undefined && term.version === 'other' && other.version === by.version) return false;
  if (term.team === undefined) return by.namespace === other.namespace;
  return term.team === '*' || TEAMS[other.namespace] === term.team;
}

interface Scene {
  readonly nodes: readonly NodeShape[];
  readonly placed: readonly PodShape[];
  readonly pod: PodShape;
}

const REASONS = {
  cordoned: 'node(s) were unschedulable',
  size: "node(s) didn't match Pod's node affinity/selector",
  ports: "node(s) didn't have free ports for the requested pod ports",
  noLabel: "node(s) didn't match pod topology spread constraints (missing required label)",
  uneven: "node(s) didn't match pod topology spread constraints",
  near: "node(s) didn't match pod affinity rules",
  apart: "node(s) didn't match pod anti-affinity rules",
  repelled: "node(s) didn't satisfy existing pods anti-affinity rules",
};

const at = (placed: PodShape, nodes: readonly unknown[]): number => placed.node % nodes.length;

function nodeReasons({ nodes, placed, pod }: Scene, i: number): readonly string[] {
  const node = nodes[i];
  assert.ok(node !== undefined);
  const here = placed.filter((each) => at(each, nodes) === i);
  if (node.cordoned === true && pod.tolerates !== '*') return [REASONS.cordoned];
  if (!isTolerated(pod, node)) return [`node(s) had untolerated taint {k: ${node.hard ?? ''}}`];
  if (!sizeFits(pod, node)) return [REASONS.size];
  if (here.some(({ needs: { port } }) => portsCollide(port, pod.needs.port))) return [REASONS.ports];
  const cpu = here.reduce((sum, each) => sum + cpuOf(each.needs), cpuOf(pod.needs));
  const gpu = here.reduce((sum, each) => sum + (each.needs.gpu ?? 0), pod.needs.gpu ?? 0);
  return [
    ...(cpu > node.cpu * 1_000 ? ['Insufficient cpu'] : []),
    ...(pod.needs.gpu !== undefined && gpu > node.gpu ? [`Insufficient ${GPU}`] : []),
  ];
}

function spreadReasons({ nodes, placed, pod }: Scene, i: number): readonly string[] {
  const labels = nodes.map(labelsOf);
  const hasAllKeys = (j: number): boolean => pod.spreads.every(({ key }) => labels[j]?.[key] !== undefined);
  for (const spread of pod.spreads) {
    const domain = labels[i]?.[spread.key];
    if (domain === undefined) return [REASONS.noLabel];
    const eligible = nodes.flatMap((node, j) =>
      hasAllKeys(j) &&
      (spread.ignoresAffinity || sizeFits(pod, node)) &&
      (!spread.honorsTaints || isTolerated(pod, node))
        ? [j]
        : [],
    );
    const isMate = (other: PodShape): boolean =>
      !other.ending &&
      other.namespace === pod.namespace &&
      other.app === pod.app &&
      (!spread.sameVersion || pod.version === undefined || other.version === pod.version);
    const countIn = (value: string | undefined): number =>
      placed.filter(
        (each) => isMate(each) && eligible.includes(at(each, nodes)) && labels[at(each, nodes)]?.[spread.key] === value,
      ).length;
    const domains = new Set(eligible.map((j) => labels[j]?.[spread.key]));
    const fewest = Math.min(...[...domains].map(countIn));
    const least = domains.size < (spread.minDomains ?? 1) ? 0 : fewest;
    if (countIn(domain) + 1 - least > spread.maxSkew) return [REASONS.uneven];
  }
  return [];
}

function wishReasons({ nodes, placed, pod }: Scene, i: number): readonly string[] {
  const labels = nodes.map(labelsOf);
  const shares = (key: string, other: PodShape): boolean =>
    labels[i]?.[key] !== undefined && labels[at(other, nodes)]?.[key] === labels[i]?.[key];
  const near = pod.terms.filter(({ away }) => !away);
  const mates = placed.filter((other) => near.every((term) => means(term, pod, other)));
  const isFirst =
    !mates.some((other) => near.some(({ key }) => labels[at(other, nodes)]?.[key] !== undefined)) &&
    near.every((term) => means(term, pod, pod));
  if (near.some(({ key }) => labels[i]?.[key] === undefined)) return [REASONS.near];
  if (!near.every(({ key }) => mates.some((other) => shares(key, other))) && !isFirst) return [REASONS.near];
  const apart = pod.terms.filter(({ away }) => away);
  if (apart.some((term) => placed.some((other) => means(term, pod, other) && shares(term.key, other))))
    return [REASONS.apart];
  const repels = (other: PodShape): boolean =>
    other.terms.some((term) => term.away && means(term, other, pod) && shares(term.key, other));
  return placed.some(repels) ? [REASONS.repelled] : [];
}

const namespaceOf = (name: string): Namespace => ({
  apiVersion: 'v1',
  kind: 'Namespace',
  metadata: { name, labels: { team: TEAMS[name] ?? '' } },
  spec: {},
  status: {},
});

test('[INIT-20] [SPREAD-17] [SPREAD-18] every node is refused for the reasons of the reference rules, and no other is', () => {
  const scenes = fc.record({
    nodes: fc.array(nodeShapes, { minLength: 2, maxLength: 4 }),
    placed: fc.array(podShapes, { minLength: 2, maxLength: 6 }),
    pod: podShapes,
  });
  const seen = new Set<string>();
  fc.assert(
    fc.property(scenes, (scene) => {
      const { nodes, placed, pod } = scene;
      const cluster = clusterOf(nodes.map(nodeOf));
      for (const name of Object.keys(TEAMS)) cluster.setNamespace(namespaceOf(name));
      for (const [i, each] of placed.entries()) {
        cluster.setPod(createPodInfo(podOf(each, `p${i}`, `n${at(each, nodes)}`)));
      }
      const cycle = { pod: createPodInfo(podOf({ ...pod, ending: false }, 'incoming')), snapshot: cluster };
      const found = findFeasible(cycle, { profile: profileFor(cluster), random: createSeededRandom(1, 't') });
      const told = found.kind === 'found' ? rejectionsOf(found.search) : found.rejections;
      for (const i of nodes.keys()) {
        const expected = [nodeReasons, spreadReasons, wishReasons].map((reasonsOf) => reasonsOf(scene, i));
        const reasons = expected.find((each) => each.length > 0) ?? [];
        assert.deepEqual(told.get(`n${i}`)?.reasons ?? [], reasons);
        for (const reason of reasons) seen.add(reason);
      }
    }),
    { numRuns: 800 },
  );
  assert.deepEqual(
    Object.values(REASONS).filter((reason) => !seen.has(reason)),
    [],
    'every reason was met',
  );
});
