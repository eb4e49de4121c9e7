import { strict as assert } from 'node:assert';
import { type TestContext, test } from 'node:test';
import { type Answer, type Call, startTestApi, type TestApi } from '../testing/fixture.ts';

const VOLUME = '/api/v1/persistentvolumes/disk';
const ATTACHMENT = {
  nodeName: 'a',
  nodeUID: 'uid-of-a',
  pods: [{ namespace: 'default', name: 'db-0', uid: 'uid-of-db-0' }],
  attachedAt: '2026-01-01T00:00:00Z',
};

/** A volume that the controller has attached to node a. */
async function attachedVolume(t: TestContext): Promise<TestApi> {
  const api = await startTestApi();
  t.after(() => api.stop());
  await api.call('POST', '/api/v1/nodes', { body: { metadata: { name: 'a' } } });
  const spec = {
    accessModes: ['ReadWriteOnce'],
    capacity: { storage: '1Gi' },
    nfs: { server: 'storage.example', path: '/disk' },
  };
  await api.call('POST', '/api/v1/persistentvolumes', { body: { metadata: { name: 'disk' }, spec } });
  const attached = await api.call('PATCH', `${VOLUME}/status`, {
    as: 'manager',
    body: { status: { attachment: ATTACHMENT } },
  });
  assert.equal(attached.status, 200, JSON.stringify(attached.body));
  return api;
}

const revisionOf = async (api: TestApi): Promise<string> =>
  (await api.call('GET', VOLUME)).textAt('metadata.resourceVersion');

const attachedTo = async (api: TestApi): Promise<unknown> =>
  (await api.call('GET', VOLUME)).at('status.attachment.nodeName');

interface Break extends Call {
  readonly revision?: string;
}

const breakIt = (api: TestApi, { revision, ...call }: Break): Promise<Answer> =>
  api.call('PATCH', `${VOLUME}/status`, {
    body: {
      ...(revision === undefined ? {} : { metadata: { resourceVersion: revision } }),
      status: { attachment: null },
    },
    ...call,
  });

const tellFenced = (api: TestApi, status: string, reason: string): Promise<Answer> =>
  api.call('PATCH', '/api/v1/nodes/a/status', {
    body: { status: { conditions: [{ type: 'Fenced', status, reason }] } },
  });

async function brokenEvents(api: TestApi): Promise<readonly Record<string, unknown>[]> {
  const { body } = await api.call('GET', '/api/v1/namespaces/default/events');
  const { items } = body as { items: readonly Record<string, unknown>[] };
  return items.filter(({ reason }) => reason === 'AttachmentBroken');
}

/** Creates a role for the account `nobody`. */
async function allow(api: TestApi, rules: readonly unknown[]): Promise<void> {
  const group = '/apis/rbac.authorization.k8s.io/v1';
  await api.call('POST', `${group}/clusterroles`, { body: { metadata: { name: 'storage' }, rules } });
  await api.call('POST', `${group}/clusterrolebindings`, {
    body: {
      metadata: { name: 'storage' },
      roleRef: { apiGroup: 'rbac.authorization.k8s.io', kind: 'ClusterRole', name: 'storage' },
      subjects: [{ apiGroup: 'rbac.authorization.k8s.io', kind: 'User', name: 'nobody' }],
    },
  });
}

test('[RWO-22] the token of the last attachment is kept after detach, and no writer can decrease it', async (t) => {
  const api = await attachedVolume(t);
  const patch = (status: unknown, as = 'admin') => api.call('PATCH', `${VOLUME}/status`, { as, body: { status } });
  assert.equal((await patch({ fencingToken: 7 }, 'manager')).status, 200);
  const broken = await breakIt(api, { revision: await revisionOf(api) });
  assert.equal(broken.at('status.fencingToken'), 7);
  for (const as of ['manager', 'admin']) {
    const refused = await patch({ fencingToken: 6 }, as);
    assert.equal(refused.status, 422, as);
    assert.match(refused.textAt('message'), /must not be smaller than before \(7\)/);
  }
  const { status: _kept, ...whole } = (await api.call('GET', VOLUME)).body as { status: unknown };
  const replaced = await api.call('PUT', `${VOLUME}/status`, { body: { ...whole, status: { phase: 'Available' } } });
  assert.equal(replaced.at('status.fencingToken'), 7, 'a client that does not know the field keeps it');
});

test('[RWO-22] an administrator breaks an attachment at the examined revision, and an Event names the user', async (t) => {
  const api = await attachedVolume(t);
  const broken = await breakIt(api, { revision: await revisionOf(api) });
  assert.equal(broken.status, 200, JSON.stringify(broken.body));
  assert.equal(broken.at('status.attachment'), undefined);
  assert.equal(await attachedTo(api), undefined);
  const [event, ...more] = await brokenEvents(api);
  assert.deepEqual(more, []);
  assert.match(String(event?.['message']), /^admin broke the attachment to node a \(pod\(s\) default\/db-0\)/);
  const about = event?.['involvedObject'] as Record<string, unknown> | undefined;
  assert.deepEqual([about?.['kind'], about?.['name']], ['PersistentVolume', 'disk']);
});

test('[RWO-22] a break without a revision, or with an old one, changes nothing and writes no Event', async (t) => {
  const api = await attachedVolume(t);
  const old = await revisionOf(api);
  const blind = await breakIt(api, {});
  assert.deepEqual([blind.status, blind.at('details.causes.0.field')], [422, 'metadata.resourceVersion']);
  await api.call('PATCH', VOLUME, { body: { metadata: { labels: { looked: 'again' } } } });
  assert.equal((await breakIt(api, { revision: old })).status, 409);
  const asPatch = [{ op: 'remove', path: '/status/attachment' }];
  const headers = { 'content-type': 'application/json-patch+json' };
  assert.equal((await breakIt(api, { body: asPatch, headers })).status, 422);
  assert.equal(await attachedTo(api), 'a');
  assert.deepEqual(await brokenEvents(api), []);
  const pinned = [{ op: 'test', path: '/metadata/resourceVersion', value: await revisionOf(api) }, ...asPatch];
  assert.equal((await breakIt(api, { body: pinned, headers })).status, 200);
  assert.equal((await brokenEvents(api)).length, 1);
});

test('[RWO-22] an update that omits the attachment of a volume is a break like any other', async (t) => {
  const api = await attachedVolume(t);
  const met = (await api.call('GET', VOLUME)).body as { metadata: object; status: Record<string, unknown> };
  const { attachment: _gone, ...status } = met.status;
  const { resourceVersion: _silent, ...metadata } = met.metadata as Record<string, unknown>;
  const put = (body: unknown) => api.call('PUT', `${VOLUME}/status`, { body });
  assert.equal((await put({ ...met, metadata, status })).status, 422);
  assert.equal((await put({ ...met, status })).status, 200);
  assert.equal((await brokenEvents(api)).length, 1);
});

test('[RWO-22] the permission to write the status of volumes does not include breaking attachments', async (t) => {
  const api = await attachedVolume(t);
  const status = { apiGroups: [''], resources: ['persistentvolumes/status'], verbs: ['patch', 'update'] };
  await allow(api, [status]);
  const seen = await api.call('PATCH', `${VOLUME}/status`, { as: 'nobody', body: { status: { message: 'seen' } } });
  assert.equal(seen.status, 200);
  const refused = await breakIt(api, { as: 'nobody', revision: await revisionOf(api) });
  assert.equal(refused.status, 403);
  assert.match(
    refused.textAt('message'),
    /requires a separate permission \(verb "delete" on resource "persistentvolumes\/attachment"\)/,
  );
  const own = { apiGroups: [''], resources: ['persistentvolumes/attachment'], verbs: ['delete'] };
  await api.call('PATCH', '/apis/rbac.authorization.k8s.io/v1/clusterroles/storage', {
    body: { rules: [status, own] },
  });
  assert.equal((await breakIt(api, { as: 'nobody', revision: await revisionOf(api) })).status, 200);
  assert.match(String((await brokenEvents(api))[0]?.['message']), /^nobody broke/);
});

test('[RWO-22] no writer moves an attachment to another node or removes single pods from it', async (t) => {
  const api = await attachedVolume(t);
  for (const change of [{ nodeName: 'b' }, { pods: [] }]) {
    const revision = await revisionOf(api);
    const body = { metadata: { resourceVersion: revision }, status: { attachment: change } };
    assert.equal((await breakIt(api, { body })).status, 403, JSON.stringify(change));
  }
  assert.equal(await attachedTo(api), 'a');
});

test('[RWO-22] [SAFE-15] a controller cannot clear an attachment that still names a pod', async (t) => {
  const api = await attachedVolume(t);
  assert.equal((await breakIt(api, { as: 'manager', revision: await revisionOf(api) })).status, 403);
  const named = { status: { attachment: { nodeName: 'b' } } };
  assert.equal((await breakIt(api, { as: 'manager', body: named })).status, 403);
  const emptied = { status: { attachment: { pods: [] } } };
  assert.equal((await breakIt(api, { as: 'manager', body: emptied })).status, 200);
  assert.equal((await breakIt(api, { as: 'manager' })).status, 200);
  assert.deepEqual(await brokenEvents(api), [], 'nothing was broken');
});

test('[FENCE-07] [FENCE-09] the fencer breaks an attachment only after the fence of its node is confirmed', async (t) => {
  const api = await attachedVolume(t);
  const met = (await api.call('GET', VOLUME)).body as { status: Record<string, unknown> };
  const { attachment: _gone, ...status } = met.status;
  const attempt = async () => {
    const now = (await api.call('GET', VOLUME)).body as object;
    return api.call('PUT', `${VOLUME}/status`, { as: 'fencer', body: { ...now, status } });
  };
  assert.equal((await attempt()).status, 403);
  await tellFenced(api, 'Unknown', 'FencingStarted');
  const early = await attempt();
  assert.equal(early.status, 403);
  assert.match(early.textAt('message'), /the fence of node a is not confirmed/);
  await tellFenced(api, 'True', 'StorageFenced');
  assert.equal((await attempt()).status, 200);
  assert.match(String((await brokenEvents(api))[0]?.['message']), /^system:holdfast:fencer broke/);
});
