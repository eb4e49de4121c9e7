import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Container, Pod } from '@holdfast/api';
import fc from 'fast-check';
import { buildNode, buildPod } from '../testing/builders.ts';
import { createPodInfo, type PodInfo, placedOn, refreshPodInfo } from './pod-info.ts';
import { PodTemplates } from './pod-templates.ts';

const sometimes = <T>(...values: readonly T[]): fc.Arbitrary<T | undefined> => fc.constantFrom(undefined, ...values);
const containers: fc.Arbitrary<Container> = fc.record({
  name: fc.constant('c'),
  image: fc.constantFrom('a', 'b'),
  resources: fc.constantFrom({}, { requests: { cpu: '1' } }, { requests: { cpu: '2', memory: '1Gi' } }),
  ports: fc.constantFrom([], [{ containerPort: 80, hostPort: 80 }]),
});
const shapes = fc.record({
  namespace: fc.constantFrom('x', 'y'),
  owner: sometimes('o'),
  labels: fc.constantFrom({}, { app: 'a' }, { app: 'b' }),
  containers: fc.array(containers, { minLength: 1, maxLength: 2 }),
  sidecars: fc.array(containers, { maxLength: 1 }),
  selector: sometimes({ disk: 'ssd' }),
  tolerates: fc.boolean(),
  spreads: sometimes('zone', 'host'),
  avoids: sometimes('a', 'b'),
  claim: sometimes('data', 'logs'),
  cpu: sometimes('500m'),
});
type Shape = typeof shapes extends fc.Arbitrary<infer T> ? T : never;

function podOf(shape: Shape, name: string): Pod {
  const { namespace, owner, labels } = shape;
  const labelSelector = { matchLabels: { app: shape.avoids ?? 'a' } };
  return buildPod(name, {
    namespace,
    labels,
    ...(owner === undefined ? {} : { owner }),
    spec: {
      containers: shape.containers,
      initContainers: shape.sidecars.map((each) => ({ ...each, restartPolicy: 'Always' })),
      volumes: shape.claim === undefined ? [] : [{ name: 'v', persistentVolumeClaim: { claimName: shape.claim } }],
      tolerations: shape.tolerates ? [{ operator: 'Exists' }] : [],
      ...(shape.selector === undefined ? {} : { nodeSelector: shape.selector }),
      ...(shape.cpu === undefined ? {} : { overhead: { cpu: shape.cpu } }),
      ...(shape.avoids === undefined
        ? {}
        : {
            affinity: {
              podAntiAffinity: {
                requiredDuringSchedulingIgnoredDuringExecution: [{ topologyKey: 'host', labelSelector }],
              },
            },
          }),
      ...(shape.spreads === undefined
        ? {}
        : {
            topologySpreadConstraints: [
              { maxSkew: 1, topologyKey: shape.spreads, whenUnsatisfiable: 'DoNotSchedule', labelSelector },
            ],
          }),
    },
  });
}

const NODE_NAMES = [undefined, 'n1', 'n2'];

function onNode(pod: Pod, nodeName: string | undefined): Pod {
  return nodeName === undefined ? pod : { ...pod, spec: { ...pod.spec, nodeName } };
}

const NODES = [buildNode('a', { labels: { disk: 'ssd' } }), buildNode('b')];

/** Everything parsed of a pod, with node tests replaced by their results. */
function told({ requiredNodes, spread, requests, requestsForScoring, affinity, ...rest }: PodInfo): unknown {
  const answers = NODES.map(
    ({ metadata: { name = '', labels = {} } }) => requiredNodes === undefined || requiredNodes({ name, labels }),
  );
  const wishes = affinity.requiredAnti.map(({ text, topologyKey }) => [text, topologyKey]);
  const spreads = spread.DoNotSchedule.constraints.map(({ group, view, includesSelf, maxSkew }) => [
    group.key,
    view.key,
    includesSelf,
    maxSkew,
  ]);
  return { ...rest, answers, wishes, spreads, amounts: [[...requests], [...requestsForScoring]] };
}

test('pods that share parsed parts equal pods that are parsed separately', () => {
  let shared = 0;
  fc.assert(
    fc.property(
      fc.array(shapes, { minLength: 1, maxLength: 4 }),
      fc.array(fc.nat(3), { maxLength: 12 }),
      (all, order) => {
        const templates = new PodTemplates();
        const seen = new Set<unknown>();
        for (const [i, which] of order.entries()) {
          const shape = all[which % all.length];
          assert.ok(shape !== undefined);
          const pod = onNode(podOf(shape, `p${i}`), NODE_NAMES[i % NODE_NAMES.length]);
          const info = templates.infoOf(pod);
          assert.deepEqual(told(info), told(createPodInfo(pod)));
          if (seen.has(info.requests)) shared++;
          seen.add(info.requests);
        }
      },
    ),
    { numRuns: 300 },
  );
  assert.ok(shared > 100, 'what was read was shared often enough');
});

test('one of several bound pods of one owner is parsed in full, and their requests differ in the node', () => {
  const templates = new PodTemplates();
  const infos = Array.from({ length: 20 }, (_, i) =>
    templates.infoOf(onNode(buildPod(`p${i}`, { owner: 'o', cpu: '1' }), `n${i}`)),
  );
  assert.equal(new Set(infos.map(({ requests }) => requests)).size, 1);
  assert.equal(new Set(infos.map(({ nodeNeeds }) => nodeNeeds)).size, 20);
});

test('a pod that is observed with other requests is parsed again', () => {
  fc.assert(
    fc.property(shapes, shapes, (before, after) => {
      const known = placedOn(createPodInfo(podOf(before, 'p')), 'n');
      const pod = { ...podOf({ ...after, namespace: before.namespace, claim: before.claim }, 'p') };
      const bound = { ...pod, spec: { ...pod.spec, nodeName: 'n' } };
      const { nodeNeeds: _, ...expected } = told(createPodInfo(bound)) as PodInfo;
      // Its node-local needs were computed before it had a node.
      const { nodeNeeds: __, ...seen } = told(refreshPodInfo(known, bound)) as PodInfo;
      assert.deepEqual(seen, expected);
    }),
    { numRuns: 300 },
  );
});
