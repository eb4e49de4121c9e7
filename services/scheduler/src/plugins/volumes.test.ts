import assert from 'node:assert/strict';
import { test } from 'node:test';
import type {
  CSINode,
  PersistentVolume,
  PersistentVolumeClaim,
  Pod,
  StorageClass,
  Volume,
  VolumeAttachment,
} from '@holdfast/api';
import { decodeConfiguration, type SchedulerConfiguration } from '../configuration/configuration.ts';
import type { ClusterCache } from '../domain/cluster-cache.ts';
import { buildNode, buildPod, type PodShape } from '../testing/builders.ts';
import { clusterOf, decideFully, outcome, told } from '../testing/cluster.ts';

const ZONE = 'topology.kubernetes.io/zone';

function claim(
  name: string,
  spec: Partial<PersistentVolumeClaim['spec']> = {},
  phase = 'Bound',
): PersistentVolumeClaim {
  return {
    apiVersion: 'v1',
    kind: 'PersistentVolumeClaim',
    metadata: { name, namespace: 'default', uid: `uid-${name}` },
    spec: { accessModes: ['ReadWriteOnce'], resources: { requests: { storage: '1Gi' } }, ...spec },
    status: { phase },
  };
}

function volume(
  name: string,
  spec: PersistentVolume['spec'] = {},
  labels: Record<string, string> = {},
): PersistentVolume {
  const common = { accessModes: ['ReadWriteOnce'], capacity: { storage: '1Gi' } };
  return {
    apiVersion: 'v1',
    kind: 'PersistentVolume',
    metadata: { name, labels },
    spec: { ...common, ...spec },
    status: { phase: spec.claimRef === undefined ? 'Available' : 'Bound' },
  };
}

const storageClass = (
  name: string,
  volumeBindingMode: string,
  provisioner = 'kubernetes.io/no-provisioner',
): StorageClass => ({
  apiVersion: 'storage.k8s.io/v1',
  kind: 'StorageClass',
  metadata: { name },
  provisioner,
  volumeBindingMode,
});

const onNode = (name: string): NonNullable<PersistentVolume['spec']['nodeAffinity']> => ({
  required: {
    nodeSelectorTerms: [{ matchExpressions: [{ key: 'kubernetes.io/hostname', operator: 'In', values: [name] }] }],
  },
});

function using(name: string, claims: readonly string[], shape: PodShape = {}): Pod {
  const volumes = claims.map((claimName) => ({ name: claimName, persistentVolumeClaim: { claimName } }));
  return buildPod(name, { ...shape, spec: { ...shape.spec, volumes } });
}

interface Storage {
  readonly claims?: readonly PersistentVolumeClaim[];
  readonly volumes?: readonly PersistentVolume[];
  readonly classes?: readonly StorageClass[];
}

function withoutPlugin(name: string): SchedulerConfiguration {
  return decodeConfiguration({
    apiVersion: 'kubescheduler.config.k8s.io/v1',
    kind: 'KubeSchedulerConfiguration',
    profiles: [{ plugins: { multiPoint: { disabled: [{ name }] } } }],
  });
}

function withStorage(cluster: ClusterCache, { claims = [], volumes = [], classes = [] }: Storage): ClusterCache {
  for (const each of claims) cluster.volumes.setClaim(each);
  for (const each of volumes) cluster.volumes.setVolume(each);
  for (const each of classes) cluster.volumes.setClass(each);
  return cluster;
}

const nodes = ['a', 'b'].map((name) => buildNode(name));
const NOT_HELPFUL = 'preemption: 0/2 nodes are available: 2 Preemption is not helpful for scheduling.';

test('VolumeBinding: a missing, terminating, lost or unbound claim keeps the pod waiting and reports why', () => {
  const gone = claim('gone');
  const cluster = withStorage(clusterOf(nodes), {
    claims: [
      { ...gone, metadata: { ...gone.metadata, deletionTimestamp: 'x' } },
      claim('lost', { volumeName: 'v' }, 'Lost'),
      claim('unbound', {}, 'Pending'),
    ],
  });
  const said = (name: string): string => outcome(cluster, using('p', [name]));
  const message = (text: string): string => `0/2 nodes are available: ${text}. ${NOT_HELPFUL}`;
  assert.equal(said('none'), message('persistentvolumeclaim "none" not found'));
  assert.equal(said('gone'), message('persistentvolumeclaim "gone" is being deleted'));
  assert.equal(said('lost'), message('persistentvolumeclaim "lost" bound to non-existent persistentvolume "v"'));
  assert.equal(said('unbound'), message('pod has unbound immediate PersistentVolumeClaims'));
});

test('[RWO-01] [RWO-04] VolumeBinding: a bound volume restricts the pod to the nodes that reach it', () => {
  const cluster = withStorage(clusterOf(nodes), {
    claims: [claim('data', { volumeName: 'v' }), claim('broken', { volumeName: 'nothing' })],
    volumes: [volume('v', { nodeAffinity: onNode('b') })],
  });
  assert.equal(outcome(cluster, using('p', ['data'])), 'b');
  const elsewhere = using('p', ['data'], { spec: { nodeSelector: { 'kubernetes.io/hostname': 'a' } } });
  assert.match(outcome(cluster, elsewhere), /1 node\(s\) had volume node affinity conflict/);
  assert.equal(
    outcome(cluster, using('p', ['broken'])),
    `0/2 nodes are available: persistentvolume "nothing" not found. ${NOT_HELPFUL}`,
  );
  const configuration = withoutPlugin('VolumeZone');
  assert.match(
    told(decideFully(cluster, using('p', ['broken']), { configuration })),
    /2 node\(s\) unavailable due to one or more pvc\(s\) bound to non-existent pv\(s\)/,
  );
  assert.match(
    told(decideFully(cluster, using('p', ['data', 'broken']), { configuration })),
    /available: 1 node\(s\) had volume node affinity conflict, 1 node\(s\) unavailable due to one or more pvc/,
    'of several bound claims the first that fails gives the reason',
  );
});

test('VolumeBinding: the pod waits for a claim that is created for it', () => {
  const ephemeral: Volume = {
    name: 'scratch',
    ephemeral: { volumeClaimTemplate: { spec: { accessModes: ['ReadWriteOncePod'], resources: {} } } },
  };
  const pod = buildPod('p', { spec: { volumes: [ephemeral] } });
  const cluster = clusterOf(nodes);
  const missing = 'waiting for ephemeral volume controller to create the persistentvolumeclaim "p-scratch"';
  assert.equal(outcome(cluster, pod), `0/2 nodes are available: ${missing}. ${NOT_HELPFUL}`);
  const { metadata, ...rest } = claim('p-scratch', { volumeName: 'v' });
  withStorage(cluster, { claims: [{ ...rest, metadata }], volumes: [volume('v', {}, { [ZONE]: 'elsewhere' })] });
  const notOurs = 'PVC default/p-scratch was not created for pod default/p (pod is not owner)';
  assert.equal(outcome(cluster, pod), `0/2 nodes are available: ${notOurs}. ${NOT_HELPFUL}`);
  const owner = { apiVersion: 'v1', kind: 'Pod', name: 'p', uid: 'uid-default-p', controller: true };
  cluster.volumes.setClaim({ ...rest, metadata: { ...metadata, ownerReferences: [owner] } });
  cluster.setNode(buildNode('a', { labels: { [ZONE]: 'here' } }));
  cluster.setNode(buildNode('b', { labels: { [ZONE]: 'here' } }));
  assert.equal(outcome(cluster, pod).length, 1, 'zone labels of its volume do not concern VolumeZone');
});

test('[RWO-09] a pod may be placed on a node while its volume is still attached to another', () => {
  const held = volume('v', {});
  const attachment = { nodeName: 'a', nodeUID: 'uid-a', pods: [{ namespace: 'default', name: 'one', uid: 'uid-one' }] };
  const cluster = withStorage(clusterOf(nodes), {
    claims: [claim('data', { volumeName: 'v' })],
    volumes: [{ ...held, status: { ...held.status, attachment } }],
  });
  const onB = using('two', ['data'], { spec: { nodeSelector: { 'kubernetes.io/hostname': 'b' } } });
  assert.equal(outcome(cluster, onB), 'b');
});

test('VolumeBinding: a WaitForFirstConsumer claim uses the smallest suitable volume, where one exists', () => {
  const wait = storageClass('local', 'WaitForFirstConsumer');
  const wants = claim('data', { storageClassName: 'local' }, 'Pending');
  const local = (name: string, node: string, storage: string): PersistentVolume =>
    volume(name, { storageClassName: 'local', nodeAffinity: onNode(node), capacity: { storage } });
  const small = withStorage(clusterOf(nodes), {
    claims: [wants],
    classes: [wait],
    volumes: [local('v', 'a', '500Mi')],
  });
  assert.match(outcome(small, using('p', ['data'])), /2 node\(s\) didn't find available persistent volumes to bind/);
  const cluster = withStorage(clusterOf(nodes), {
    claims: [wants, claim('other', { storageClassName: 'local' }, 'Pending')],
    classes: [wait],
    volumes: [local('large', 'b', '5Gi'), local('right', 'b', '2Gi'), local('tiny', 'a', '1Mi')],
  });
  assert.equal(outcome(cluster, using('p', ['data'])), 'b');
  assert.equal(cluster.volumes.volume('right')?.spec.claimRef?.name, 'data', 'it is reserved at once');
  assert.equal(cluster.volumes.volume('large')?.spec.claimRef, undefined);
  assert.equal(outcome(cluster, using('q', ['other'])), 'b');
  assert.equal(cluster.volumes.volume('large')?.spec.claimRef?.name, 'other', 'the next pod takes another one');
});

test('VolumeBinding: provisioning follows class topology and capacity', () => {
  const zoned = ['a', 'b'].map((name) => buildNode(name, { labels: { [ZONE]: `z-${name}` } }));
  const csi = storageClass('csi', 'WaitForFirstConsumer', 'driver.test');
  const wants = claim('data', { storageClassName: 'csi' }, 'Pending');
  const limited = { ...csi, allowedTopologies: [{ matchLabelExpressions: [{ key: ZONE, values: ['z-b'] }] }] };
  const cluster = withStorage(clusterOf(zoned), { claims: [wants], classes: [limited] });
  assert.equal(outcome(cluster, using('p', ['data'])), 'b');
  assert.equal(
    cluster.volumes.claim('default/data')?.metadata.annotations?.['volume.kubernetes.io/selected-node'],
    'b',
  );
  const full = withStorage(clusterOf(zoned), { claims: [wants], classes: [csi] });
  const driver = { apiVersion: 'storage.k8s.io/v1', kind: 'CSIDriver', metadata: { name: 'driver.test' } };
  full.volumes.setCsiDriver({ ...driver, spec: { storageCapacity: true } });
  assert.match(outcome(full, using('p', ['data'])), /2 node\(s\) did not have enough free storage/);
  full.volumes.setCapacity({
    apiVersion: 'storage.k8s.io/v1',
    kind: 'CSIStorageCapacity',
    metadata: { name: 'c', namespace: 'default' },
    storageClassName: 'csi',
    capacity: '10Gi',
    nodeTopology: { matchLabels: { [ZONE]: 'z-a' } },
  });
  assert.equal(outcome(full, using('p', ['data'])), 'a');
});

test('VolumeZone alone reports why the volume of a claim is unknown', () => {
  const configuration = withoutPlugin('VolumeBinding');
  const cluster = withStorage(clusterOf(nodes), {
    claims: [
      claim('bare', {}, 'Pending'),
      claim('unknown', { storageClassName: 'none' }, 'Pending'),
      claim('now', { storageClassName: 'now' }, 'Pending'),
      claim('later', { storageClassName: 'later' }, 'Pending'),
    ],
    classes: [storageClass('now', 'Immediate'), storageClass('later', 'WaitForFirstConsumer')],
  });
  const said = (name: string): string => told(decideFully(cluster, using('p', [name]), { configuration }));
  const message = (text: string): string => `0/2 nodes are available: ${text}. ${NOT_HELPFUL}`;
  assert.equal(said('bare'), message('PersistentVolumeClaim had no pv name and storageClass name'));
  assert.equal(said('unknown'), message('storageclass.storage.k8s.io "none" not found'));
  assert.equal(said('now'), message('PersistentVolume had no name'));
  assert.equal(said('later').length, 1);
});

test('VolumeRestrictions: a ReadWriteOncePod claim serves one pod of the cluster, a more important pod preempts it', () => {
  const claims = [claim('data', { accessModes: ['ReadWriteOncePod'], volumeName: 'v' })];
  const stored = { claims, volumes: [volume('v')] };
  const user = using('user', ['data'], { nodeName: 'a' });
  const cluster = withStorage(clusterOf(nodes, [user]), stored);
  assert.match(
    outcome(cluster, using('p', ['data'])),
    /^0\/2 nodes are available: 2 node has pod using PersistentVolumeClaim with the same name and ReadWriteOncePod access mode\. preemption: 0\/2/,
  );
  const decided = decideFully(cluster, using('p', ['data'], { spec: { priority: 10 } }));
  assert.ok(decided.kind === 'refuse' && decided.preemption.kind === 'preempt');
  const { nodeName, victims } = decided.preemption.candidate;
  assert.deepEqual([nodeName, victims.map(({ name }) => name)], ['a', ['user']]);
  assert.equal(outcome(withStorage(clusterOf(nodes), stored), using('p', ['data'])).length, 1);
});

test('VolumeRestrictions: a disk is used once per node unless all uses are read-only', () => {
  const disk = (readOnly: boolean): Volume[] => [{ name: 'd', gcePersistentDisk: { pdName: 'x', readOnly } }];
  const only = [buildNode('a')];
  const cluster = clusterOf(only, [buildPod('user', { nodeName: 'a', spec: { volumes: disk(true) } })]);
  assert.equal(outcome(cluster, buildPod('p', { spec: { volumes: disk(true) } })), 'a');
  assert.match(
    outcome(cluster, buildPod('p', { spec: { volumes: disk(false) } })),
    /1 node\(s\) had no available disk/,
  );
});

test('NodeVolumeLimits: a node accepts as many volumes of a driver as it reported, each counted once', () => {
  const csi = (handle: string): PersistentVolume['spec'] => ({ csi: { driver: 'driver.test', volumeHandle: handle } });
  const cluster = withStorage(clusterOf([buildNode('a')], [using('user', ['one'], { nodeName: 'a' })]), {
    claims: ['one', 'two'].map((name) => claim(name, { volumeName: name })),
    volumes: ['one', 'two'].map((name) => volume(name, csi(name))),
  });
  const csiNode = (count: number): CSINode => ({
    apiVersion: 'storage.k8s.io/v1',
    kind: 'CSINode',
    metadata: { name: 'a' },
    spec: { drivers: [{ name: 'driver.test', nodeID: 'a', allocatable: { count } }] },
  });
  cluster.volumes.setCsiNode(csiNode(1));
  assert.equal(outcome(cluster, using('p', ['one'])), 'a');
  assert.match(outcome(cluster, using('p', ['two'])), /1 node\(s\) exceed max volume count/);
  cluster.volumes.setCsiNode(csiNode(2));
  assert.equal(outcome(cluster, using('p', ['two'])), 'a');
  const attachment = (persistentVolumeName: string, nodeName = 'a'): VolumeAttachment => ({
    apiVersion: 'storage.k8s.io/v1',
    kind: 'VolumeAttachment',
    metadata: { name: `${persistentVolumeName}-${nodeName}` },
    spec: { attacher: 'driver.test', nodeName, source: { persistentVolumeName } },
    status: { attached: true },
  });
  withStorage(cluster, { volumes: [volume('left', csi('left'))] });
  for (const each of [attachment('one'), attachment('two'), attachment('left', 'b')])
    cluster.volumes.setAttachment(each);
  assert.equal(outcome(cluster, using('p', ['two'])), 'a', 'what is there for a pod counts once');
  cluster.volumes.setAttachment(attachment('left'));
  assert.equal(outcome(cluster, using('p', ['two'])), 'a', 'it is there already');
  cluster.volumes.removeAttachment(attachment('two'));
  assert.match(outcome(cluster, using('p', ['two'])), /1 node\(s\) exceed max volume count/, 'not yet detached');
  cluster.volumes.removeAttachment(attachment('left'));
  assert.equal(outcome(cluster, using('p', ['two'])), 'a');
});

test('[RWO-04] VolumeZone: a volume with zones is used in one of them, by old or new labels; without zones anywhere', () => {
  const stored = (labels: Record<string, string>): Storage => ({
    claims: [claim('data', { volumeName: 'v' })],
    volumes: [volume('v', {}, labels)],
  });
  const zoned = ['a', 'b', 'c'].map((name) => buildNode(name, { labels: { [ZONE]: `z-${name}` } }));
  assert.equal(outcome(withStorage(clusterOf(zoned), stored({ [ZONE]: 'z-b' })), using('p', ['data'])), 'b');
  const old = stored({ 'failure-domain.beta.kubernetes.io/zone': 'z-b__z-c' });
  assert.ok(['b', 'c'].includes(outcome(withStorage(clusterOf(zoned), old), using('p', ['data']))));
  const oldNodes = [buildNode('o', { labels: { 'failure-domain.beta.kubernetes.io/zone': 'z-b' } })];
  const newVolume = withStorage(clusterOf(oldNodes), stored({ [ZONE]: 'z-b' }));
  assert.match(outcome(newVolume, using('p', ['data'])), /1 node\(s\) had no available volume zone/);
  const nowhere = outcome(withStorage(clusterOf(zoned), stored({ [ZONE]: 'z' })), using('p', ['data']));
  assert.match(nowhere, /3 node\(s\) had no available volume zone/);
  assert.equal(outcome(withStorage(clusterOf([buildNode('n')]), stored({ [ZONE]: 'z' })), using('p', ['data'])), 'n');
});
