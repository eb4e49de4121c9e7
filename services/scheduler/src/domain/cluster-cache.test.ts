import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Pod } from '@holdfast/api';
import { InvariantViolation } from '@holdfast/platform';
import fc from 'fast-check';
import { buildNode, buildPod } from '../testing/builders.ts';
import { ClusterCache } from './cluster-cache.ts';
import type { PodGroup } from './match-counts.ts';
import { createPodInfo } from './pod-info.ts';

const GROUPS: readonly PodGroup[] = ['a', 'b'].map((app) => ({
  key: app,
  // One term that is found by its label, and one that is checked for every pod.
  pair: app === 'a' ? 'app=a' : '',
  includes: (pod) => pod.labels['app'] === app && !pod.terminating,
}));

/** Everything that a decision can see, in a comparable form. */
function visible(cache: ClusterCache): unknown {
  const sorted = <T>(entries: Iterable<readonly [string, T]>): unknown =>
    Object.fromEntries([...entries].filter(([, value]) => value !== 0).toSorted(([a], [b]) => (a < b ? -1 : 1)));
  const nodes = cache.nodes.map((node): [string, unknown] => [
    node.name,
    {
      labels: node.labels,
      requested: sorted(node.requested),
      forScoring: sorted(node.requestedForScoring),
      pods: [...node.pods.keys()].toSorted((a, b) => (a < b ? -1 : 1)),
      ports: node.hostPorts.map(({ port }) => port).toSorted((a, b) => a - b),
    },
  ]);
  const terms = ['a', 'b'].flatMap((app) =>
    [...cache.placedTerms(createPodInfo(buildPod('any', { labels: { app } })), 'requiredAnti')].map(
      ({ term, byNode }): [string, unknown] => [`${app} ${term.text}`, sorted(byNode)],
    ),
  );
  const users = ['default/c1', 'default/c2'].map((claim) =>
    cache
      .usersOfClaim(claim)
      .map(({ name }) => name)
      .toSorted(),
  );
  return {
    nodes: sorted(nodes),
    counts: GROUPS.map((group) => sorted(cache.countsOf(group))),
    terms: sorted(terms),
    users,
  };
}

const step = fc.record({
  op: fc.constantFrom('node', 'unnode', 'pod', 'pod', 'unpod', 'assume', 'assume', 'forget', 'terminate'),
  node: fc.constantFrom('n1', 'n2', 'n3'),
  pod: fc.constantFrom('p1', 'p2', 'p3', 'p4', 'p5'),
  app: fc.constantFrom('a', 'b'),
  cpu: fc.constantFrom('1', '500m'),
});

test('after any changes the cache equals a cache built from scratch', () => {
  fc.assert(
    fc.property(fc.array(step, { maxLength: 40 }), (steps) => {
      const cache = new ClusterCache();
      const nodes = new Set<string>();
      const bound = new Map<string, Pod>();
      const assumed = new Map<string, Pod>();
      visible(cache);
      for (const { op, node, pod: name, app, cpu } of steps) {
        const spec = {
          containers: [
            { name: 'c', image: 'i', resources: { requests: { cpu } }, ports: [{ containerPort: 1, hostPort: 80 }] },
          ],
          volumes: [{ name: 'v', persistentVolumeClaim: { claimName: app === 'a' ? 'c1' : 'c2' } }],
        };
        const anti = { topologyKey: 'kubernetes.io/hostname', labelSelector: { matchLabels: { app } } };
        const affinity = { podAntiAffinity: { requiredDuringSchedulingIgnoredDuringExecution: [anti] } };
        const pod = buildPod(name, { labels: { app }, spec, affinity });
        const uid = pod.metadata.uid ?? '';
        const onNode: Pod = { ...pod, spec: { ...pod.spec, nodeName: node } };
        if (op === 'node') {
          cache.setNode(buildNode(node, { labels: { app } }));
          nodes.add(`${node}\n${app}`);
          for (const other of ['a', 'b']) if (other !== app) nodes.delete(`${node}\n${other}`);
        } else if (op === 'unnode') {
          cache.removeNode(node);
          for (const other of ['a', 'b']) nodes.delete(`${node}\n${other}`);
        } else if (op === 'pod') {
          cache.setPod(createPodInfo(onNode));
          bound.set(uid, onNode);
          assumed.delete(uid);
        } else if (op === 'unpod') {
          cache.removePod(uid);
          bound.delete(uid);
          assumed.delete(uid);
        } else if (op === 'assume' && !cache.isPlaced(uid)) {
          cache.assume(createPodInfo(pod), node);
          assumed.set(uid, onNode);
        } else if (op === 'forget') {
          assert.equal(cache.forget(uid) !== undefined, assumed.delete(uid));
        } else if (op === 'terminate' && bound.has(uid)) {
          const leaving: Pod = { ...onNode, metadata: { ...onNode.metadata, deletionTimestamp: 'x' } };
          cache.setPod(createPodInfo(leaving));
          bound.set(uid, leaving);
        }
      }
      const fresh = new ClusterCache();
      for (const entry of nodes) {
        const [name = '', app = ''] = entry.split('\n');
        fresh.setNode(buildNode(name, { labels: { app } }));
      }
      for (const pod of [...bound.values(), ...assumed.values()]) fresh.setPod(createPodInfo(pod));
      assert.deepEqual(visible(cache), visible(fresh));
      assert.equal(cache.assumptions(), assumed.size);
    }),
    { numRuns: 300 },
  );
});

test('a pod is assumed once, and on a node', () => {
  const cache = new ClusterCache();
  const pod = createPodInfo(buildPod('p'));
  assert.throws(() => cache.assume(pod, ''), InvariantViolation);
  cache.assume(pod, 'n1');
  assert.throws(() => cache.assume(pod, 'n2'), InvariantViolation);
});

test('the order of the nodes takes turns between zones, and follows their labels', () => {
  const cache = new ClusterCache();
  const put = (name: string, zone: string): void =>
    void cache.setNode(buildNode(name, { labels: zone === '' ? {} : { 'topology.kubernetes.io/zone': zone } }));
  const order = (): string => cache.nodes.map(({ name }) => name).join(' ');
  for (const name of ['n1', 'n2', 'n3']) put(name, '');
  assert.equal(order(), 'n1 n2 n3', 'without zones in the order of arrival');
  for (const name of ['a1', 'a2', 'a3']) put(name, 'a');
  put('b1', 'b');
  assert.equal(order(), 'n1 a1 b1 n2 a2 n3 a3');
  put('a1', 'b');
  assert.equal(order(), 'n1 a1 a2 n2 b1 a3 n3');
  cache.removeNode('n1');
  assert.equal(order(), 'n2 a1 a2 n3 b1 a3');
  const before = cache.nodes;
  put('a2', 'a');
  assert.equal(cache.nodes, before, 'nothing is built again for a change that moves no node');
});
