import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { CSINode, PersistentVolume, PersistentVolumeClaim, Pod, Volume } from '@holdfast/api';
import { createSeededRandom } from '@holdfast/platform';
import fc from 'fast-check';
import type { ClusterCache } from '../domain/cluster-cache.ts';
import { createPodInfo } from '../domain/pod-info.ts';
import { buildNode, buildPod } from '../testing/builders.ts';
import { clusterOf, decide } from '../testing/cluster.ts';

const ZONE = 'topology.kubernetes.io/zone';
const HOSTNAME = 'kubernetes.io/hostname';
const DRIVER = 'csi.example';
const LOCAL = 'local';

const zones = fc.constantFrom('z1', 'z2', undefined);
const nodeArbitrary = fc.record({ zone: zones, limit: fc.constantFrom(1, 2, undefined) });
/** A bound claim: in a zone, on one node, for one pod at a time. */
const boundArbitrary = fc.record({
  zone: zones,
  onNode: fc.constantFrom(0, 1, undefined),
  onePod: fc.boolean(),
});
/** An unused local volume of a node. */
const localArbitrary = fc.record({ node: fc.nat(3), gibi: fc.integer({ min: 1, max: 3 }) });
const podArbitrary = fc.record({
  bound: fc.array(fc.nat(3), { maxLength: 2 }),
  /** Claims that wait for the pod, by size. */
  delayed: fc.array(fc.integer({ min: 1, max: 3 }), { maxLength: 2 }),
  disk: fc.constantFrom('d1', 'd2', undefined),
  readOnly: fc.boolean(),
  missing: fc.constantFrom(true, false, false, false, false, false),
  nodeName: fc.constantFrom(undefined, undefined, undefined, 'n0', 'n2'),
});
const caseArbitrary = fc.record({
  nodes: fc.array(nodeArbitrary, { minLength: 1, maxLength: 4 }),
  bound: fc.array(boundArbitrary, { minLength: 4, maxLength: 4 }),
  locals: fc.array(localArbitrary, { maxLength: 5 }),
  pods: fc.array(podArbitrary, { maxLength: 8 }),
  seed: fc.integer(),
});
type Case = typeof caseArbitrary extends fc.Arbitrary<infer T> ? T : never;
type PodCase = Case['pods'][number];
interface Placed {
  readonly pod: PodCase;
  readonly at: number;
}

/** The rules again, in their most literal form. */
function naivelyFits({ nodes, bound, locals }: Case, placed: readonly Placed[], pod: PodCase, at: number): boolean {
  const node = nodes[at];
  if (node === undefined || pod.missing) return false;
  if (pod.nodeName !== undefined && pod.nodeName !== `n${at}`) return false;
  const here = placed.filter((each) => each.at === at);
  const sameDisk = here.filter((each) => pod.disk !== undefined && each.pod.disk === pod.disk);
  if (sameDisk.some((each) => !(each.pod.readOnly && pod.readOnly))) return false;
  for (const index of pod.bound) {
    const volume = bound[index];
    if (volume?.onNode !== undefined && volume.onNode !== at) return false;
    if (volume?.zone !== undefined && node.zone !== undefined && volume.zone !== node.zone) return false;
    if (volume?.onePod === true && placed.some((each) => each.pod.bound.includes(index))) return false;
  }
  const attached = new Set(here.flatMap((each) => each.pod.bound));
  const together = new Set([...attached, ...pod.bound]);
  if (node.limit !== undefined && together.size > attached.size && together.size > node.limit) return false;
  const free = locals.flatMap((local, i) => (local.node === at ? [i] : []));
  return canAssign(pod.delayed, free, (size, i) => (locals[i]?.gibi ?? 0) >= size);
}

/** True when every claim gets its own volume. */
function canAssign(
  sizes: readonly number[],
  free: readonly number[],
  suits: (size: number, i: number) => boolean,
): boolean {
  const [first, ...rest] = sizes;
  if (first === undefined) return true;
  return free.some(
    (i) =>
      suits(first, i) &&
      canAssign(
        rest,
        free.filter((other) => other !== i),
        suits,
      ),
  );
}

const onlyOn = (name: string): NonNullable<PersistentVolume['spec']['nodeAffinity']> => ({
  required: { nodeSelectorTerms: [{ matchExpressions: [{ key: HOSTNAME, operator: 'In', values: [name] }] }] },
});

function claimOf(name: string, gibi: number, spec: Partial<PersistentVolumeClaim['spec']>): PersistentVolumeClaim {
  return {
    apiVersion: 'v1',
    kind: 'PersistentVolumeClaim',
    metadata: { name, namespace: 'default', uid: `uid-${name}` },
    spec: { accessModes: ['ReadWriteOnce'], resources: { requests: { storage: `${gibi}Gi` } }, ...spec },
    status: { phase: spec.volumeName === undefined ? 'Pending' : 'Bound' },
  };
}

function volumeOf(
  name: string,
  spec: PersistentVolume['spec'],
  { zone, phase }: { readonly zone?: string | undefined; readonly phase: string },
): PersistentVolume {
  const labels = zone === undefined ? {} : { [ZONE]: zone };
  return { apiVersion: 'v1', kind: 'PersistentVolume', metadata: { name, labels }, spec, status: { phase } };
}

function csiNodeOf(name: string, count: number): CSINode {
  const drivers = [{ name: DRIVER, nodeID: name, allocatable: { count } }];
  return { apiVersion: 'storage.k8s.io/v1', kind: 'CSINode', metadata: { name }, spec: { drivers } };
}

function clusterFor({ nodes, bound, locals }: Case): ClusterCache {
  const cluster = clusterOf(
    nodes.map(({ zone }, i) => buildNode(`n${i}`, zone === undefined ? {} : { labels: { [ZONE]: zone } })),
  );
  const { volumes } = cluster;
  for (const [i, { limit }] of nodes.entries()) if (limit !== undefined) volumes.setCsiNode(csiNodeOf(`n${i}`, limit));
  for (const [i, { zone, onNode, onePod }] of bound.entries()) {
    const accessModes = [onePod ? 'ReadWriteOncePod' : 'ReadWriteMany'];
    const nodeAffinity = onNode === undefined ? {} : { nodeAffinity: onlyOn(`n${onNode}`) };
    const csi = { driver: DRIVER, volumeHandle: `handle-${i}` };
    const spec = { accessModes, capacity: { storage: '1Gi' }, csi, ...nodeAffinity };
    volumes.setVolume(volumeOf(`v${i}`, spec, { zone, phase: 'Bound' }));
    volumes.setClaim(claimOf(`bound-${i}`, 1, { accessModes, volumeName: `v${i}` }));
  }
  volumes.setClass({
    apiVersion: 'storage.k8s.io/v1',
    kind: 'StorageClass',
    metadata: { name: LOCAL },
    provisioner: 'kubernetes.io/no-provisioner',
    volumeBindingMode: 'WaitForFirstConsumer',
  });
  for (const [i, { node, gibi }] of locals.entries()) {
    const spec = { accessModes: ['ReadWriteOnce'], capacity: { storage: `${gibi}Gi` }, storageClassName: LOCAL };
    volumes.setVolume(volumeOf(`local-${i}`, { ...spec, nodeAffinity: onlyOn(`n${node}`) }, { phase: 'Available' }));
  }
  return cluster;
}

function podFor(pod: PodCase, name: string, { volumes }: ClusterCache): Pod {
  const delayed = pod.delayed.map((gibi, i) => {
    const claim = `${name}-delayed-${i}`;
    volumes.setClaim(claimOf(claim, gibi, { storageClassName: LOCAL }));
    return claim;
  });
  const claims = [...new Set([...pod.bound.map((i) => `bound-${i}`), ...delayed]), ...(pod.missing ? ['none'] : [])];
  const used: Volume[] = claims.map((claimName) => ({ name: claimName, persistentVolumeClaim: { claimName } }));
  const { disk, readOnly, nodeName } = pod;
  if (disk !== undefined) used.push({ name: 'disk', gcePersistentDisk: { pdName: disk, readOnly } });
  return buildPod(name, { spec: { volumes: used, ...(nodeName === undefined ? {} : { nodeName }) } });
}

test('NodeName and the rules of volumes equal a naive reference on random clusters', () => {
  const seen = { placed: 0, refused: 0 };
  fc.assert(
    fc.property(caseArbitrary, (clusterCase) => {
      const cluster = clusterFor(clusterCase);
      const random = createSeededRandom(clusterCase.seed, 'ties');
      const placed: Placed[] = [];
      for (const [i, shape] of clusterCase.pods.entries()) {
        const pod = podFor(shape, `p${i}`, cluster);
        const decision = decide(cluster, pod, { random });
        const fitting = clusterCase.nodes.flatMap((_, at) =>
          naivelyFits(clusterCase, placed, shape, at) ? [`n${at}`] : [],
        );
        if (decision.kind === 'refuse') {
          seen.refused++;
          assert.deepEqual(fitting, [], `p${i} fits`);
          continue;
        }
        seen.placed++;
        assert.ok(fitting.includes(decision.nodeName), `${decision.nodeName} is not one of [${fitting.join(', ')}]`);
        cluster.assume(createPodInfo(pod), decision.nodeName);
        placed.push({ pod: shape, at: Number(decision.nodeName.slice(1)) });
      }
    }),
    { numRuns: 400 },
  );
  assert.ok(seen.placed > 100 && seen.refused > 100, JSON.stringify(seen));
});
