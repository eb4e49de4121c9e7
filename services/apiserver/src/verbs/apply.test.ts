import { strict as assert } from 'node:assert';
import { afterEach, beforeEach, test } from 'node:test';
import { type Answer, startTestApi, type TestApi } from '../testing/fixture.ts';

const CONFIG_MAPS = '/api/v1/namespaces/default/configmaps';

let api: TestApi;
beforeEach(async () => {
  api = await startTestApi();
});
afterEach(() => api.stop());

const apply = (manager: string, data: Readonly<Record<string, string>>, extra = '') =>
  api.call('PATCH', `${CONFIG_MAPS}/x?fieldManager=${manager}${extra}`, {
    headers: { 'content-type': 'application/apply-patch+yaml' },
    body: { apiVersion: 'v1', kind: 'ConfigMap', metadata: { name: 'x' }, data },
  });

test('applying creates the object, and applying it again changes nothing', async () => {
  const created = await apply('alice', { a: '1' });
  assert.equal(created.status, 201);
  const again = await apply('alice', { a: '1' });
  assert.deepEqual([again.status, again.at('metadata.resourceVersion')], [200, created.at('metadata.resourceVersion')]);
});

test('an apply that creates an object sets the defaults of its kind, also in structs that it omits', async () => {
  const body = {
    apiVersion: 'apps/v1',
    kind: 'Deployment',
    metadata: { name: 'web' },
    spec: {
      selector: { matchLabels: { app: 'web' } },
      template: {
        metadata: { labels: { app: 'web' } },
        spec: { containers: [{ name: 'main', image: 'example.org/web' }] },
      },
    },
  };
  const deployments = '/apis/apps/v1/namespaces/default/deployments';
  const created = await api.call('POST', deployments, { body: { ...body, metadata: { name: 'other' } } });
  for (const name of ['web', 'web-2']) {
    const applied = await api.call('PATCH', `${deployments}/${name}?fieldManager=alice`, {
      headers: { 'content-type': 'application/apply-patch+yaml' },
      body: { ...body, metadata: { name } },
    });
    assert.deepEqual([applied.status, applied.textAt('spec.strategy.type')], [201, 'RollingUpdate']);
    assert.deepEqual(applied.at('spec'), created.at('spec'));
  }
});

test('a uid in an apply: 422 for another object of this name, 409 where there is none, as Kubernetes answers', async () => {
  const withUid = (name: string, uid: string) =>
    api.call('PATCH', `${CONFIG_MAPS}/${name}?fieldManager=alice`, {
      headers: { 'content-type': 'application/apply-patch+yaml' },
      body: { apiVersion: 'v1', kind: 'ConfigMap', metadata: { name, uid }, data: {} },
    });
  const live = (await apply('alice', {})).textAt('metadata.uid');
  const wrong = await withUid('x', 'another');
  assert.deepEqual([wrong.status, wrong.at('details.causes.0.field')], [422, 'metadata.uid']);
  assert.match(wrong.textAt('message'), /field is immutable/);
  assert.equal((await withUid('x', live)).status, 200);
  const absent = await withUid('y', live);
  assert.deepEqual([absent.status, absent.at('reason')], [409, 'Conflict']);
  assert.match(absent.textAt('message'), /uid mismatch: .* no existing object was found/);
});

test('a field of another manager is a conflict unless forced; fields that are no longer applied are removed', async () => {
  await apply('alice', { a: '1', b: '1' });
  const refused = await apply('bob', { a: '2' });
  assert.deepEqual([refused.status, refused.at('details.causes.0.reason')], [409, 'FieldManagerConflict']);
  const forced = await apply('bob', { a: '2' }, '&force=true');
  assert.deepEqual(forced.at('data'), { a: '2', b: '1' });
  assert.deepEqual((await apply('alice', {})).at('data'), { a: '2' });
});

test('concurrent appliers all get their fields', async () => {
  const managers = ['m1', 'm2', 'm3', 'm4'];
  const answers = await Promise.all(managers.map((manager) => apply(manager, { [manager]: 'x' })));
  assert.ok(answers.every((each) => each.status === 200 || each.status === 201 || each.status === 409));
  const lost = managers.filter((_, i) => answers[i]?.status === 409);
  for (const manager of lost) assert.equal((await apply(manager, { [manager]: 'x' })).status, 200);
  assert.deepEqual((await api.call('GET', `${CONFIG_MAPS}/x`)).at('data'), { m1: 'x', m2: 'x', m3: 'x', m4: 'x' });
});

test('an ordinary write owns what it changes, by its field manager or user agent', async () => {
  const body = { metadata: { name: 'y' }, data: { a: '1' } };
  await api.call('POST', CONFIG_MAPS, { body, headers: { 'user-agent': 'tool/1.0 (test)' } });
  const patched = await api.call('PATCH', `${CONFIG_MAPS}/y?fieldManager=me`, { body: { data: { b: '2' } } });
  const entries = patched.at('metadata.managedFields') as readonly { manager: string; fieldsV1: unknown }[];
  assert.deepEqual(entries.map((each) => each.manager).toSorted(), ['me', 'tool']);
  assert.deepEqual(entries.find((each) => each.manager === 'me')?.fieldsV1, { 'f:data': { 'f:b': {} } });
});

test('force is refused for other patches, and apply requires a manager', async () => {
  assert.equal((await api.call('PATCH', `${CONFIG_MAPS}/x?force=true`, { body: {} })).status, 422);
  assert.equal((await apply('', { a: '1' })).status, 422);
});

test('fields that an endpoint drops have no owner', async () => {
  const owned = (answer: Answer): object =>
    Object.fromEntries(
      (answer.at('metadata.managedFields') as readonly { manager: string; fieldsV1: object }[]).map(
        ({ manager, fieldsV1 }) => [manager, fieldsV1],
      ),
    );
  const signed =
    'MIGLMD8CAQAwDDEKMAgGA1UEAwwBYTAqMAUGAytlcAMhADiUDWbhRq7HB8BhpTYYM/+rRcRdke3/XtkwISLEhLUWoAAwBQYDK2VwA0EA69QUgv9N' +
    'ayuKGA0IeKO8/6etGD8XTS5jO8cWm7P1kuXtuy9COt2t0M7SgJ0jKSDQD/yRz21O4epzlC8TtyUwBQ==';
  const pem = `-----BEGIN CERTIFICATE REQUEST-----\n${signed}\n-----END CERTIFICATE REQUEST-----\n`;
  const spec = { request: Buffer.from(pem).toString('base64'), signerName: 'a.b/c', usages: ['any'] };
  const requests = '/apis/certificates.k8s.io/v1/certificatesigningrequests';
  const labels = { app: 'web' };
  await api.call('POST', `${requests}?fieldManager=asker`, { body: { metadata: { name: 'r', labels }, spec } });
  const conditions = [{ type: 'Approved', status: 'True' }];
  const approved = await api.call('PATCH', `${requests}/r/approval?fieldManager=judge`, {
    headers: { 'content-type': 'application/merge-patch+json' },
    body: { spec: { signerName: 'd.e/f' }, status: { conditions, certificate: 'eA==' } },
  });
  const condition = { '.': {}, 'f:status': {}, 'f:type': {} };
  assert.deepEqual(owned(approved), {
    asker: { 'f:metadata': { 'f:labels': { '.': {}, 'f:app': {} } } },
    judge: { 'f:status': { 'f:conditions': { '.': {}, 'k:{"type":"Approved"}': condition } } },
  });
  const deployments = '/apis/apps/v1/namespaces/default/deployments';
  const template = { metadata: { labels }, spec: { containers: [{ name: 'c', image: 'i' }] } };
  await api.call('POST', `${deployments}?fieldManager=maker`, {
    body: { metadata: { name: 'w' }, spec: { selector: { matchLabels: labels }, template } },
  });
  const noted = await api.call('PATCH', `${deployments}/w/status?fieldManager=watcher`, {
    headers: { 'content-type': 'application/merge-patch+json' },
    body: { metadata: { labels: { a: 'b' }, annotations: { c: 'd' } }, status: { replicas: 1 } },
  });
  assert.equal(noted.at('metadata.labels'), undefined);
  assert.deepEqual(Object.entries(owned(noted))[1], [
    'watcher',
    { 'f:metadata': { 'f:annotations': { '.': {}, 'f:c': {} } }, 'f:status': { 'f:replicas': {} } },
  ]);
});
