import assert from 'node:assert/strict';
import { test } from 'node:test';
import { CONFIG_MAPS, SECRETS } from '@holdfast/api';
import { clientOf, configMap, serve } from './testing.ts';

const withData = (name: string, value: string) => ({ ...configMap(name), data: { value } });

test('reset: a cluster begins anew, a fork where it began, with the same kubeconfig and without its lenses', async (t) => {
  const ask = await serve(t);
  const { body: first } = await ask('POST', '/clusters', { clock: 'virtual' });
  const client = clientOf(t, first);
  const namesOf = async (from = client): Promise<readonly (string | undefined)[]> =>
    (await from.list(CONFIG_MAPS, { namespace: 'default' })).items.map(({ metadata }) => metadata.name);
  const atStart = await namesOf();
  await client.create(CONFIG_MAPS, configMap('mine'));
  const { body: snapshot } = await ask('POST', `/clusters/${first.id}/snapshots`);
  await ask('POST', `/clusters/${first.id}/lenses`, { kind: 'latency', user: 'operator', ms: 1 });
  await ask('POST', `/clusters/${first.id}/advance`, { duration: '1m' });
  const reset = await ask('POST', `/clusters/${first.id}/reset`);
  assert.deepEqual([reset.status, reset.body], [200, first]);
  assert.deepEqual(await namesOf(), atStart);
  assert.deepEqual((await ask('GET', `/clusters/${first.id}/lenses`)).body.items, []);
  const { body: fork } = await ask('POST', `/snapshots/${snapshot.id}/fork`);
  const other = clientOf(t, fork);
  await other.delete(CONFIG_MAPS, { namespace: 'default', name: 'mine' });
  assert.equal((await ask('POST', `/clusters/${fork.id}/reset`)).status, 200);
  assert.ok((await namesOf(other)).includes('mine'));
  assert.equal((await ask('POST', '/clusters/none/reset')).status, 404);
  assert.match((await ask('POST', `/clusters/${first.id}/reset`, { to: 'x' })).body.message, /no field to/);
});

test('diff: what differs between two snapshots, or between a snapshot and a cluster as it is now', async (t) => {
  const ask = await serve(t);
  const { body: cluster } = await ask('POST', '/clusters', { without: ['scheduler', 'controllers'] });
  const client = clientOf(t, cluster);
  for (const name of ['goes', 'same', 'changes']) await client.create(CONFIG_MAPS, withData(name, '1'));
  const { body: before } = await ask('POST', `/clusters/${cluster.id}/snapshots`);
  const current = await client.get(CONFIG_MAPS, { namespace: 'default', name: 'changes' });
  await client.update(CONFIG_MAPS, { ...current, data: { value: '2' } });
  await client.delete(CONFIG_MAPS, { namespace: 'default', name: 'goes' });
  await client.create(CONFIG_MAPS, withData('new', '1'));
  const at = (name: string) => ({ group: '', resource: 'configmaps', namespace: 'default', name });
  const differences = [
    { type: 'updated', object: at('changes'), diff: [{ op: 'replace', path: '/data/value', from: '1', value: '2' }] },
    { type: 'deleted', object: at('goes') },
    { type: 'created', object: at('new') },
  ];
  const place = `/snapshots/${before.id}/diff`;
  const present = await ask('POST', place, { to: cluster.id });
  assert.deepEqual([present.status, present.body], [200, { items: differences, isCut: false }]);
  const { body: after } = await ask('POST', `/clusters/${cluster.id}/snapshots`);
  assert.deepEqual((await ask('POST', place, { to: after.id })).body.items, differences);
  assert.deepEqual((await ask('POST', `/snapshots/${after.id}/diff`, { to: cluster.id })).body.items, []);
  const rows = [
    [place, { to: 'nothing' }, 404, /no snapshot or cluster "nothing"/],
    [place, {}, 400, /the field to is missing/],
    ['/snapshots/snapshot-9/diff', { to: cluster.id }, 404, /no snapshot "snapshot-9"/],
  ] as const;
  for (const [path, body, status, message] of rows) {
    const answer = await ask('POST', path, body);
    assert.equal(answer.status, status);
    assert.match(answer.body.message, message);
  }
});

test('diff by revisions: between two, or since one; what changed back is none, and contents of Secrets are not told', async (t) => {
  const ask = await serve(t);
  const { body: cluster } = await ask('POST', '/clusters', { without: ['scheduler', 'controllers'] });
  const client = clientOf(t, cluster);
  const revision = async (): Promise<number> => Number((await client.list(CONFIG_MAPS)).resourceVersion);
  const put = async (name: string, value: string): Promise<unknown> => {
    const current = await client.get(CONFIG_MAPS, { namespace: 'default', name });
    return client.update(CONFIG_MAPS, { ...current, data: { value } });
  };
  for (const name of ['goes', 'back', 'changes']) await client.create(CONFIG_MAPS, withData(name, '1'));
  const secret = { apiVersion: 'v1', kind: 'Secret', metadata: { name: 'hidden', namespace: 'default' } } as const;
  const made = await client.create(SECRETS, { ...secret, stringData: { key: '1' } });
  const from = await revision();
  await put('changes', '2');
  await put('back', '2');
  await client.delete(CONFIG_MAPS, { namespace: 'default', name: 'goes' });
  const middle = await revision();
  await put('changes', '3');
  await put('back', '1');
  await client.create(CONFIG_MAPS, withData('new', '1'));
  await client.update(SECRETS, { ...made, stringData: { key: '2' } });
  const at = (name: string, resource = 'configmaps') => ({ group: '', resource, namespace: 'default', name });
  const changed = (name: string, before: string, after: string) => ({
    type: 'updated',
    object: at(name),
    diff: [{ op: 'replace', path: '/data/value', from: before, value: after }],
  });
  const place = `/clusters/${cluster.id}/diff`;
  const goes = { type: 'deleted', object: at('goes') };
  const { body: first } = await ask('POST', place, { from, to: middle });
  assert.deepEqual(first, { items: [changed('back', '1', '2'), changed('changes', '1', '2'), goes], isCut: false });
  const hidden = { type: 'updated', object: at('hidden', 'secrets') };
  const whole = [changed('changes', '1', '3'), goes, { type: 'created', object: at('new') }, hidden];
  assert.deepEqual((await ask('POST', place, { from })).body.items, whole);
  assert.deepEqual((await ask('POST', place, { from: await revision() })).body.items, []);
  const rows = [
    [{ from: middle, to: from }, /revision \d+ is before \d+/],
    [{ from: 9_999_999 }, /has not happened yet/],
    [{ from: '1' }, /from/],
    [{}, /the field from is missing/],
  ] as const;
  for (const [body, message] of rows) {
    const answer = await ask('POST', place, body);
    assert.equal(answer.status, 400);
    assert.match(answer.body.message, message);
  }
});

test('controllers: a cluster runs those that are chosen, and an unknown name is refused', async (t) => {
  const ask = await serve(t);
  const { body: cluster } = await ask('POST', '/clusters', {
    clock: 'virtual',
    controllers: ['*', '-root-ca-certificate-publisher'],
  });
  const { items } = await clientOf(t, cluster).list(CONFIG_MAPS, { namespace: 'default' });
  assert.deepEqual(items, []);
  const refused = await ask('POST', '/clusters', { controllers: ['deploy'] });
  assert.deepEqual([refused.status, refused.body.message], [400, 'there is no controller named deploy']);
});
