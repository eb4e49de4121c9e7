import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import {
  EVENTS,
  type KubeObject,
  NODES,
  PERSISTENT_VOLUME_CLAIMS,
  PERSISTENT_VOLUMES,
  type PersistentVolume,
  PODS,
  type Pod,
  REPLICA_SETS,
  type ResourceRef,
} from '@holdfast/api';
import type { ApiClient } from '@holdfast/client';
import { StatusError } from '@holdfast/machinery';
import { startApi } from '../support/kubelet-cluster.ts';
import { waitFor } from '../support/wait.ts';
import { startWholeCluster, type WholeCluster } from '../support/whole-cluster.ts';

const STORAGE = { storagecluster: 'iscsi-1' };
const DISK = { name: 'disk' };

const disk: PersistentVolume = {
  apiVersion: 'v1',
  kind: 'PersistentVolume',
  metadata: DISK,
  spec: {
    accessModes: ['ReadWriteOnce'],
    capacity: { storage: '1Gi' },
    iscsi: { targetPortal: '10.0.0.9:3260', iqn: 'iqn.2026-11.example:disk', lun: 0 },
    nodeAffinity: {
      required: {
        nodeSelectorTerms: [{ matchExpressions: [{ key: 'storagecluster', operator: 'In', values: ['iscsi-1'] }] }],
      },
    },
  },
  status: {},
};

const pod = (name: string, spec: Partial<Pod['spec']> = {}): Pod => ({
  apiVersion: 'v1',
  kind: 'Pod',
  metadata: { name, namespace: 'default' },
  spec: {
    terminationGracePeriodSeconds: 20,
    // Takes a second to end, so that there is something to wait for.
    containers: [
      {
        name: 'main',
        image: 'busybox:1.36',
        command: ['stop-after', '1'],
        resources: {},
        volumeMounts: [{ name: 'data', mountPath: '/data' }],
      },
    ],
    volumes: [{ name: 'data', persistentVolumeClaim: { claimName: 'data' } }],
    ...spec,
  },
  status: {},
});

const onNode = (name: string): Partial<Pod['spec']> => ({ nodeSelector: { 'kubernetes.io/hostname': name } });

/** Three nodes of which two reach the disk, and a claim that is bound to it. */
async function startWithDisk(): Promise<WholeCluster> {
  const cluster = await startWholeCluster({ a: STORAGE, b: STORAGE, c: {} });
  const { admin } = cluster;
  await waitFor('three nodes that take pods', async () => {
    const nodes = (await admin.list(NODES)).items;
    return nodes.length === 3 && nodes.every(({ spec }) => (spec.taints ?? []).length === 0);
  });
  await admin.create(PERSISTENT_VOLUMES, disk);
  await admin.create(PERSISTENT_VOLUME_CLAIMS, {
    apiVersion: 'v1',
    kind: 'PersistentVolumeClaim',
    metadata: { name: 'data', namespace: 'default' },
    spec: { accessModes: ['ReadWriteOnce'], storageClassName: '', resources: { requests: { storage: '1Gi' } } },
    status: {},
  });
  return cluster;
}

const find = (admin: ApiClient, name: string): Promise<Pod | undefined> =>
  admin.find(PODS, { namespace: 'default', name });

const running = (admin: ApiClient, name: string): Promise<Pod> =>
  waitFor(`pod ${name} runs`, async () => {
    const found = await find(admin, name);
    return found?.status.phase === 'Running' && found;
  });

const attachmentOf = async (admin: ApiClient): Promise<PersistentVolume['status']['attachment']> =>
  (await admin.get(PERSISTENT_VOLUMES, DISK)).status.attachment;

const told = (admin: ApiClient, about: string, reason: string): Promise<string> =>
  waitFor(`${about} is told ${reason}`, async () => {
    const { items } = await admin.list(EVENTS, { namespace: 'default' });
    return items.find((event) => event.involvedObject.name === about && event.reason === reason)?.message;
  });

interface Line {
  readonly revision: number;
  readonly text: string;
}

/** Everything that is stored of a kind from now on, with its revision. */
function follow<T extends KubeObject>(
  { admin, t }: { readonly admin: ApiClient; readonly t: TestContext },
  resource: ResourceRef<T>,
  say: (object: T, isGone: boolean) => string,
): readonly Line[] {
  const lines: Line[] = [];
  const stopping = new AbortController();
  const read = async (): Promise<void> => {
    for await (const event of admin.watch(resource, { resourceVersion: '0', signal: stopping.signal })) {
      if (event.type === 'BOOKMARK') continue;
      const text = say(event.object, event.type === 'DELETED');
      lines.push({ revision: Number(event.object.metadata.resourceVersion), text });
    }
  };
  const reading = read().catch((error: unknown) => {
    if (!stopping.signal.aborted) lines.push({ revision: 0, text: String(error) });
  });
  t.after(async () => {
    stopping.abort(new Error('the test is over'));
    await reading;
  });
  return lines;
}

const revisionOf = (lines: readonly Line[], text: string): number => {
  const found = lines.findLast((line) => line.text === text);
  assert.ok(found, `${text} in ${JSON.stringify(lines)}`);
  return found.revision;
};

test('[EXS-31] [RWO-01] [RWO-02] [RWO-03] [RWO-04] [RWO-05] [RWO-06] [RWO-07] [RWO-08] [RWO-09] [RWO-10] [RWO-11] [RWO-12] [RWO-13] [RWO-14] [RWO-15] [RWO-25] the walk: a disk moves with its pods from one node to the other, in this order', async (t) => {
  const cluster = await startWithDisk();
  t.after(() => cluster[Symbol.asyncDispose]());
  const { admin, nodes } = cluster;
  const volumes = follow({ admin, t }, PERSISTENT_VOLUMES, ({ status: { attachment } }) =>
    attachment === undefined ? 'nobody' : `${attachment.nodeName}/${attachment.pods?.[0]?.name ?? ''}`,
  );
  const pods = follow({ admin, t }, PODS, ({ metadata: { name }, status: { phase } }, isGone) =>
    isGone ? `${name} gone` : `${name} ${phase}`,
  );

  const claim = await waitFor('the claim is bound', async () => {
    const found = await admin.find(PERSISTENT_VOLUME_CLAIMS, { namespace: 'default', name: 'data' });
    return found?.status.phase === 'Bound' && found;
  });
  assert.equal(claim.spec.volumeName, 'disk');
  assert.equal((await admin.get(PERSISTENT_VOLUMES, DISK)).spec.claimRef?.uid, claim.metadata.uid);

  await admin.create(PODS, pod('one'));
  const one = await running(admin, 'one');
  const first = one.spec.nodeName ?? '';
  const second = first === 'a' ? 'b' : 'a';
  assert.ok(['a', 'b'].includes(first), `one is on ${first}`);
  const { nodeName, nodeUID, pods: users } = (await attachmentOf(admin)) ?? {};
  assert.equal(nodeName, first);
  assert.equal(nodeUID, (await admin.get(NODES, { name: first })).metadata.uid);
  assert.deepEqual(users, [{ namespace: 'default', name: 'one', uid: one.metadata.uid }]);
  await told(admin, 'one', 'SuccessfulAttachVolume');

  await admin.create(PODS, pod('nowhere', onNode('c')));
  const refusal = await told(admin, 'nowhere', 'FailedScheduling');
  assert.match(refusal, /node\(s\) had volume node affinity conflict/);
  await admin.delete(PODS, { namespace: 'default', name: 'nowhere' });

  await admin.create(PODS, pod('two', onNode(second)));
  assert.match(
    await told(admin, 'two', 'FailedAttachVolume'),
    /^Multi-Attach error for volume "disk" .* pod\(s\) one$/,
  );
  const waiting = await waitFor('two says that it waits', async () => {
    const found = await find(admin, 'two');
    return found?.status.containerStatuses?.[0]?.state.waiting?.reason === 'ContainerCreating' && found;
  });
  assert.deepEqual([waiting.status.phase, waiting.spec.nodeName], ['Pending', second]);
  assert.equal(nodes[second]?.facts.length, 0, 'no process on the second node');

  await admin.delete(PODS, { namespace: 'default', name: 'one' });
  const terminating = await find(admin, 'one');
  if (terminating !== undefined) assert.equal((await attachmentOf(admin))?.nodeName, first);
  await running(admin, 'two');
  assert.equal((await attachmentOf(admin))?.nodeName, second);
  await waitFor('the history is complete', () => {
    const isMoved = volumes.some(({ text }) => text === `${second}/two`);
    return isMoved && pods.some(({ text }) => text === 'two Running');
  });
  const steps = [
    revisionOf(pods, 'one gone'),
    revisionOf(volumes, 'nobody'),
    revisionOf(volumes, `${second}/two`),
    pods.find(({ text }) => text === 'two Running')?.revision ?? 0,
  ];
  assert.deepEqual(
    steps,
    [...steps].toSorted((x, y) => x - y),
    'steps 12 < 13 < 14 < 15',
  );
  const ended = nodes[first]?.facts.find(({ kind }) => kind === 'ended')?.at ?? Number.POSITIVE_INFINITY;
  const started = nodes[second]?.facts.find(({ kind }) => kind === 'started')?.at ?? 0;
  assert.ok(ended <= started, 'the processes of one were dead before those of two began');
});

test('[RWO-20] [RWO-21] while its node is cut off a pod keeps the disk, also when it is force-deleted; the node itself releases it', async (t) => {
  const cluster = await startWithDisk();
  t.after(() => cluster[Symbol.asyncDispose]());
  const { admin, nodes } = cluster;
  await admin.create(PODS, pod('one', onNode('a')));
  const one = await running(admin, 'one');
  nodes['a']?.cut(true);
  await admin.delete(PODS, { namespace: 'default', name: 'one' }, { gracePeriodSeconds: 0 });
  await waitFor('its object is gone', async () => (await find(admin, 'one')) === undefined);
  await admin.create(PODS, pod('two', onNode('b')));
  await told(admin, 'two', 'FailedAttachVolume');
  await waitFor('nobody is named any more', async () => ((await attachmentOf(admin))?.pods ?? []).length === 0);
  assert.equal((await attachmentOf(admin))?.nodeName, 'a', 'and yet the disk is where its processes are');
  const isAlive = (): boolean => {
    const facts = nodes['a']?.facts.filter(({ podUid }) => podUid === one.metadata.uid) ?? [];
    return facts.some(({ kind }) => kind === 'started') && !facts.some(({ kind }) => kind === 'ended');
  };
  assert.ok(isAlive());
  assert.equal(nodes['b']?.facts.length, 0);
  nodes['a']?.cut(false);
  await running(admin, 'two');
  assert.ok(!isAlive());
  assert.equal((await attachmentOf(admin))?.nodeName, 'b');
});

test('[RWO-18] two pods of one node share the disk, and it stays attached until the last of them is gone', async (t) => {
  const cluster = await startWithDisk();
  t.after(() => cluster[Symbol.asyncDispose]());
  const { admin } = cluster;
  const users = async (): Promise<readonly unknown[]> => [
    (await attachmentOf(admin))?.nodeName,
    ...((await attachmentOf(admin))?.pods ?? []).map(({ name }) => name),
  ];
  for (const name of ['one', 'two']) {
    await admin.create(PODS, pod(name, onNode('a')));
    await running(admin, name);
  }
  assert.deepEqual(await users(), ['a', 'one', 'two']);
  await admin.create(PODS, pod('three', onNode('b')));
  await told(admin, 'three', 'FailedAttachVolume');
  await admin.delete(PODS, { namespace: 'default', name: 'one' });
  await waitFor('one is gone', async () => (await find(admin, 'one')) === undefined);
  await waitFor('one is a user no more', async () => ((await attachmentOf(admin))?.pods ?? []).length === 1);
  assert.deepEqual(await users(), ['a', 'two']);
  assert.equal((await find(admin, 'three'))?.status.phase, 'Pending');
  await admin.delete(PODS, { namespace: 'default', name: 'two' });
  await running(admin, 'three');
  assert.deepEqual(await users(), ['b', 'three']);
});

test('[RWO-23] a volume that many nodes may read is attached to none: its pods run on two nodes at once', async (t) => {
  const cluster = await startWithDisk();
  t.after(() => cluster[Symbol.asyncDispose]());
  const { admin } = cluster;
  const accessModes = ['ReadOnlyMany'];
  const share = { ...disk, metadata: { name: 'share' }, spec: { ...disk.spec, accessModes } };
  await admin.create(PERSISTENT_VOLUMES, share);
  const metadata = { name: 'shared', namespace: 'default' };
  const resources = { requests: { storage: '1Gi' } };
  const wanted = { accessModes, storageClassName: '', volumeName: 'share', resources };
  const kind = { apiVersion: 'v1', kind: 'PersistentVolumeClaim' };
  await admin.create(PERSISTENT_VOLUME_CLAIMS, { ...kind, metadata, spec: wanted, status: {} });
  const volumes = [{ name: 'data', persistentVolumeClaim: { claimName: 'shared' } }];
  for (const node of ['a', 'b']) await admin.create(PODS, pod(`on-${node}`, { ...onNode(node), volumes }));
  for (const node of ['a', 'b']) assert.equal((await running(admin, `on-${node}`)).spec.nodeName, node);
  assert.equal((await admin.get(PERSISTENT_VOLUMES, { name: 'share' })).status.attachment, undefined);
});

test('[RWO-24] a ReplicaSet of one replaces its pod early, and the replacement on another node waits for the disk', async (t) => {
  const cluster = await startWithDisk();
  t.after(() => cluster[Symbol.asyncDispose]());
  const { admin, nodes } = cluster;
  const labels = { app: 'web' };
  const template = { metadata: { labels }, spec: pod('web').spec };
  const kind = { apiVersion: 'apps/v1', kind: 'ReplicaSet' };
  const spec = { replicas: 1, selector: { matchLabels: labels }, template };
  const metadata = { name: 'web', namespace: 'default' };
  await admin.create(REPLICA_SETS, { ...kind, metadata, spec, status: { replicas: 0 } });
  const pods = async (): Promise<readonly Pod[]> => (await admin.list(PODS, { namespace: 'default' })).items;
  const old = await waitFor('the first pod runs', async () =>
    (await pods()).find(({ status }) => status.phase === 'Running'),
  );
  const { name = '' } = old.metadata;
  const first = old.spec.nodeName ?? '';
  nodes[first]?.cut(true);
  await admin.patch(NODES, { name: first }, { type: 'merge', body: { spec: { unschedulable: true } } });
  await admin.delete(PODS, { namespace: 'default', name });
  const next = await waitFor('a second pod exists beside the first', async () =>
    (await pods()).find((each) => each.metadata.name !== name && each.spec.nodeName !== undefined),
  );
  const second = next.spec.nodeName ?? '';
  await told(admin, next.metadata.name ?? '', 'FailedAttachVolume');
  assert.ok((await find(admin, name)) !== undefined && second !== first);
  assert.equal(nodes[second]?.facts.length, 0, 'nothing of it runs');
  nodes[first]?.cut(false);
  await running(admin, next.metadata.name ?? '');
  assert.equal((await attachmentOf(admin))?.nodeName, second);
});

test('[RWO-22] an attachment that an administrator removes goes to the waiting pod, although the earlier pod still exists', async (t) => {
  const cluster = await startWithDisk();
  t.after(() => cluster[Symbol.asyncDispose]());
  const { admin, nodes } = cluster;
  await admin.create(PODS, pod('one', onNode('a')));
  await running(admin, 'one');
  nodes['a']?.cut(true);
  await admin.delete(PODS, { namespace: 'default', name: 'one' });
  await admin.create(PODS, pod('two', onNode('b')));
  await told(admin, 'two', 'FailedAttachVolume');
  assert.equal((await attachmentOf(admin))?.nodeName, 'a');
  const { resourceVersion } = (await admin.get(PERSISTENT_VOLUMES, DISK)).metadata;
  const body = { metadata: { resourceVersion }, status: { attachment: null } };
  await admin.patch(PERSISTENT_VOLUMES, DISK, { type: 'merge', body, subresource: 'status' });
  await running(admin, 'two');
  assert.equal((await attachmentOf(admin))?.nodeName, 'b');
  assert.ok(await find(admin, 'one'), 'still terminating, out of reach');
});

test('[RWO-16] [RWO-17] the attachment is a status field: writes to the object itself do not change it, a stale write is refused', async (t) => {
  const api = await startApi();
  t.after(() => api.stop());
  const { admin } = api;
  const attachment = {
    attachedAt: '2026-11-21T12:00:00Z',
    nodeName: 'a',
    nodeUID: 'node-uid',
    pods: [{ name: 'one', namespace: 'default', uid: 'pod-uid' }],
  };
  const created = await admin.create(PERSISTENT_VOLUMES, { ...disk, status: { attachment } });
  assert.equal(created.status.attachment, undefined);
  const attached = await admin.updateStatus(PERSISTENT_VOLUMES, {
    ...created,
    status: { ...created.status, attachment },
  });
  assert.deepEqual(attached.status.attachment, attachment);
  const labelled = { ...attached, metadata: { ...attached.metadata, labels: { a: 'b' } }, status: {} };
  await admin.update(PERSISTENT_VOLUMES, labelled);
  assert.deepEqual((await admin.get(PERSISTENT_VOLUMES, DISK)).status.attachment, attachment);
  const stale = { ...attached, status: { ...attached.status, attachment: { ...attachment, nodeName: 'b' } } };
  await assert.rejects(
    admin.updateStatus(PERSISTENT_VOLUMES, stale),
    (error: unknown) => error instanceof StatusError && error.code === 409,
  );
  const { resourceVersion } = (await admin.get(PERSISTENT_VOLUMES, DISK)).metadata;
  const body = { metadata: { resourceVersion }, status: { attachment: null } };
  const cleared = await admin.patch(PERSISTENT_VOLUMES, DISK, { type: 'merge', body, subresource: 'status' });
  assert.ok(!('attachment' in cleared.status), 'absent when detached');
});
