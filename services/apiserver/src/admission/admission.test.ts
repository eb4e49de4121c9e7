import { strict as assert } from 'node:assert';
import { afterEach, beforeEach, describe, test } from 'node:test';
import { objectKey } from '@holdfast/store';
import { encodeStored } from '../cache/stored-json.ts';
import { podBody, startTestApi, type TestApi } from '../testing/fixture.ts';

const PODS = '/api/v1/namespaces/default/pods';
const CLASSES = '/apis/scheduling.k8s.io/v1/priorityclasses';

let api: TestApi;
beforeEach(async () => {
  api = await startTestApi();
});
afterEach(() => api.stop());

describe('priority', () => {
  const priorityClass = (name: string, value: number, extra: object = {}) =>
    api.call('POST', CLASSES, { body: { metadata: { name }, value, ...extra } });
  const pod = (name: string, spec: object = {}) =>
    api.call('POST', PODS, { body: podBody(name, { spec: { ...spec } }) });

  test('[PRIO-08] [PRIO-12] the class sets the number and the preemption policy of the pod', async () => {
    await priorityClass('high', 1000, { preemptionPolicy: 'Never' });
    const created = await pod('p', { priorityClassName: 'high' });
    assert.deepEqual([created.at('spec.priority'), created.at('spec.preemptionPolicy')], [1000, 'Never']);
    await priorityClass('usual', -5);
    const usual = await pod('q', { priorityClassName: 'usual' });
    assert.deepEqual([usual.at('spec.priority'), usual.at('spec.preemptionPolicy')], [-5, 'PreemptLowerPriority']);
    assert.equal((await api.call('GET', `${PODS}/q`)).at('spec.priority'), -5, 'it is stored');
  });

  test('[EXS-20] a pod with the class of the example gets its number and may preempt', async () => {
    await priorityClass('high-priority', 1_000_000, { globalDefault: false, description: 'for service pods' });
    const nginx = await pod('nginx', { priorityClassName: 'high-priority' });
    assert.deepEqual(
      [nginx.at('spec.priority'), nginx.at('spec.preemptionPolicy')],
      [1_000_000, 'PreemptLowerPriority'],
    );
    assert.equal((await pod('other')).at('spec.priority'), 0, 'it is no default class');
  });

  test('[PRIO-06] [PRIO-07] classes apply when a pod is created: neither a later default nor a deletion changes it', async () => {
    await pod('plain');
    await priorityClass('high', 1000);
    await pod('important', { priorityClassName: 'high' });
    await priorityClass('standard', 7, { globalDefault: true });
    assert.equal((await api.call('DELETE', `${CLASSES}/high`)).status, 200);
    const labelled = { metadata: { labels: { a: 'b' } } };
    for (const name of ['plain', 'important']) {
      assert.equal((await api.call('PATCH', `${PODS}/${name}`, { body: labelled })).status, 200);
    }
    const [plain, important] = await Promise.all(
      ['plain', 'important'].map((name) => api.call('GET', `${PODS}/${name}`)),
    );
    assert.deepEqual([plain?.at('spec.priority'), plain?.at('spec.priorityClassName')], [0, undefined]);
    assert.deepEqual([important?.at('spec.priority'), important?.at('spec.priorityClassName')], [1000, 'high']);
    assert.equal((await pod('again', { priorityClassName: 'high' })).status, 403);
  });

  test('[PRIO-11] the priority of a stored pod does not change', async () => {
    await priorityClass('high', 1000);
    await priorityClass('low', 1);
    await pod('p', { priorityClassName: 'high' });
    for (const spec of [{ priority: 1 }, { priorityClassName: 'low' }, { preemptionPolicy: 'Never' }]) {
      assert.equal((await api.call('PATCH', `${PODS}/p`, { body: { spec } })).status, 422, JSON.stringify(spec));
    }
  });

  test('[PRIO-19] [INIT-22] any priority is compatible with any QoS class, which counts init containers', async () => {
    await priorityClass('low', -5);
    await priorityClass('high', 1_000_000);
    const equal = { requests: { cpu: '1', memory: '1Gi' }, limits: { cpu: '1', memory: '1Gi' } };
    const kinds = { Guaranteed: equal, Burstable: { requests: { cpu: '1' } }, BestEffort: {} };
    for (const [kind, resources] of Object.entries(kinds)) {
      for (const [priorityClassName, number] of [
        ['low', -5],
        ['high', 1_000_000],
      ] as const) {
        const containers = [{ name: 'c', image: 'i', resources }];
        const created = await pod(`${kind}-${priorityClassName}`.toLowerCase(), { priorityClassName, containers });
        assert.deepEqual([created.at('status.qosClass'), created.at('spec.priority')], [kind, number]);
      }
    }
    const initContainers = [{ name: 'i', image: 'i' }];
    const mixed = await pod('mixed', { containers: [{ name: 'c', image: 'i', resources: equal }], initContainers });
    assert.equal(mixed.at('status.qosClass'), 'Burstable');
  });

  test('[PRIO-09] an unknown class is 403', async () => {
    const refused = await pod('p', { priorityClassName: 'nope' });
    assert.deepEqual([refused.status, refused.at('reason')], [403, 'Forbidden']);
    assert.equal(refused.textAt('message'), 'pods "p" is forbidden: no PriorityClass with name nope was found');
    assert.equal((await api.call('GET', `${PODS}/p`)).status, 404);
  });

  test('[PRIO-05] the default class applies to pods that name none; without one the priority is 0', async () => {
    assert.equal((await pod('before')).at('spec.priority'), 0);
    await priorityClass('standard', 7, { globalDefault: true });
    const after = await pod('after');
    assert.deepEqual([after.at('spec.priority'), after.at('spec.priorityClassName')], [7, 'standard']);
  });

  test('[PRIO-04] a second default class is 403', async () => {
    await priorityClass('one', 1, { globalDefault: true });
    const refused = await priorityClass('two', 2, { globalDefault: true });
    assert.equal(refused.status, 403);
    const text = 'PriorityClass one is already marked as default. Only one default can exist';
    assert.ok(refused.textAt('message').endsWith(text), refused.textAt('message'));
    await priorityClass('two', 2);
    const turned = await api.call('PATCH', `${CLASSES}/two`, { body: { globalDefault: true } });
    assert.deepEqual([turned.status, turned.textAt('message').endsWith(text)], [403, true]);
    const same = await api.call('PATCH', `${CLASSES}/one`, { body: { globalDefault: true, description: 'x' } });
    assert.equal(same.status, 200, 'it is the default itself');
  });

  test('[PRIO-04] when a race has created two defaults the lower value applies', async () => {
    await priorityClass('one', 9, { globalDefault: true });
    await priorityClass('two', 2);
    const key = objectKey({ group: 'scheduling.k8s.io', resource: 'priorityclasses', namespace: '', name: 'two' });
    const { object } = await api.store.get(key);
    const value = encodeStored({ ...JSON.parse(object?.value ?? '{}'), globalDefault: true });
    const expectedRevision = object?.revision ?? 0;
    const { outcome } = await api.store.write([{ kind: 'update', key, value, expectedRevision }]);
    assert.equal(outcome, 'committed');
    // The answer is given from a cache that has seen the write.
    await api.call('GET', `${CLASSES}/two`);
    const created = await pod('p');
    assert.deepEqual([created.at('spec.priority'), created.at('spec.priorityClassName')], [2, 'two']);
  });

  test('[PRIO-10] a number that differs from that of the class is 403', async () => {
    const refused = await pod('p', { priority: 5 });
    assert.equal(refused.status, 403);
    assert.match(
      refused.textAt('message'),
      /the integer value of priority \(5\) must not be provided in pod spec; priority admission controller computed 0 from/,
    );
    const policy = await pod('p', { preemptionPolicy: 'Never' });
    assert.equal(policy.status, 403);
    assert.match(
      policy.textAt('message'),
      /the string value of PreemptionPolicy \(Never\) must not be provided in pod spec; .* computed PreemptLowerPriority from/,
    );
    await priorityClass('high', 5);
    assert.equal(
      (await pod('p', { priority: 5, priorityClassName: 'high' })).status,
      201,
      'the computed number may be said',
    );
  });

  test('a replacement that does not name the computed priority keeps it', async () => {
    const { body } = await pod('p');
    const { priority: _number, preemptionPolicy: _policy, ...spec } = (body as { spec: Record<string, unknown> }).spec;
    const replaced = await api.call('PUT', `${PODS}/p`, { body: { ...(body as object), spec } });
    assert.deepEqual([replaced.status, replaced.at('spec.priority')], [200, 0], JSON.stringify(replaced.body));
  });

  test('[PRIO-03] the system classes exist from the start', async () => {
    assert.equal((await api.call('GET', `${CLASSES}/system-node-critical`)).at('value'), 2_000_001_000);
    assert.equal((await api.call('GET', `${CLASSES}/system-cluster-critical`)).at('value'), 2_000_000_000);
    assert.equal((await api.call('DELETE', `${CLASSES}/system-node-critical`)).status, 403);
    const critical = await pod('p', { priorityClassName: 'system-cluster-critical' });
    assert.equal(critical.at('spec.priority'), 2_000_000_000);
  });
});

describe('limit ranges', () => {
  const range = (limits: readonly object[]) =>
    api.call('POST', '/api/v1/namespaces/default/limitranges', { body: { metadata: { name: 'r' }, spec: { limits } } });
  const pod = (resources: object) =>
    api.call('POST', PODS, { body: podBody('p', { spec: { containers: [{ name: 'c', image: 'i', resources }] } }) });

  test('containers get defaults for missing values', async () => {
    assert.equal(
      (await range([{ type: 'Container', default: { cpu: '1' }, defaultRequest: { cpu: '200m' } }])).status,
      201,
    );
    const created = await pod({});
    assert.deepEqual(created.at('spec.containers.0.resources'), { limits: { cpu: '1' }, requests: { cpu: '200m' } });
    assert.deepEqual(created.at('metadata.annotations'), {
      'kubernetes.io/limit-ranger': 'LimitRanger plugin set: cpu request for container c; cpu limit for container c',
    });
  });

  test('missing values and exceeded ratios have the messages of Kubernetes', async () => {
    await range([
      { type: 'Pod', min: { memory: '1Gi' }, maxLimitRequestRatio: { cpu: '2' } },
      { type: 'PersistentVolumeClaim', min: { storage: '2Gi' }, max: { storage: '3Gi' } },
    ]);
    const refused = await pod({ requests: { cpu: '1' }, limits: { cpu: '5' } });
    assert.equal(
      refused.at('message'),
      'pods "p" is forbidden: [minimum memory usage per Pod is 1Gi.  No request is specified, cpu max limit to request ratio per Pod is 2, but provided ratio is 5.000000]',
    );
    const claim = (storage: string) =>
      api.call('POST', '/api/v1/namespaces/default/persistentvolumeclaims', {
        body: {
          metadata: { name: 'c' },
          spec: { accessModes: ['ReadWriteOnce'], resources: { requests: { storage } } },
        },
      });
    assert.match(
      (await claim('1Gi')).textAt('message'),
      /minimum storage usage per .*Claim is 2Gi, but request is 1Gi$/,
    );
    assert.match(
      (await claim('4Gi')).textAt('message'),
      /maximum storage usage per .*Claim is 3Gi, but request is 4Gi$/,
    );
    assert.equal((await claim('3Gi')).status, 201);
  });

  test('values outside the bounds give 403 with every reason', async () => {
    await range([
      { type: 'Container', max: { memory: '1Gi' } },
      { type: 'Pod', max: { cpu: '2' } },
    ]);
    const refused = await pod({ limits: { cpu: '3', memory: '2Gi' } });
    assert.equal(refused.status, 403);
    assert.match(refused.textAt('message'), /maximum memory usage per Container is 1Gi, but limit is 2Gi/);
    assert.match(refused.textAt('message'), /maximum cpu usage per Pod is 2, but limit is 3/);
    assert.equal((await pod({ limits: { cpu: '1', memory: '1Gi' } })).status, 201);
  });
});

describe('storage', () => {
  const claims = '/api/v1/namespaces/default/persistentvolumeclaims';
  const claim = (name: string, spec: object = {}) => ({
    metadata: { name },
    spec: { accessModes: ['ReadWriteOnce'], resources: { requests: { storage: '1Gi' } }, ...spec },
  });

  test('a claim in use is protected from removal, and gets the default class', async () => {
    const annotations = { 'storageclass.kubernetes.io/is-default-class': 'true' };
    const body = { metadata: { name: 'fast', annotations }, provisioner: 'example.com/p' };
    assert.equal((await api.call('POST', '/apis/storage.k8s.io/v1/storageclasses', { body })).status, 201);
    const created = await api.call('POST', claims, { body: claim('c') });
    assert.equal(created.at('metadata.finalizers.0'), 'kubernetes.io/pvc-protection');
    assert.equal(created.at('spec.storageClassName'), 'fast');
    const none = await api.call('POST', claims, { body: claim('d', { storageClassName: '' }) });
    assert.equal(none.at('spec.storageClassName'), '');
  });
});

test('a user cannot grant rights that the user does not hold', async () => {
  const roles = '/apis/rbac.authorization.k8s.io/v1/namespaces/default/roles';
  const bindings = '/apis/rbac.authorization.k8s.io/v1/namespaces/default/rolebindings';
  const rules = (resources: readonly string[], verbs: readonly string[]) => [
    { apiGroups: ['rbac.authorization.k8s.io'], resources, verbs },
  ];
  const owned = rules(['roles', 'rolebindings'], ['get', 'list', 'create', 'update', 'patch']);
  await api.call('POST', roles, { body: { metadata: { name: 'admin' }, rules: owned } });
  const roleRef = { apiGroup: 'rbac.authorization.k8s.io', kind: 'Role', name: 'admin' };
  const subjects = [{ kind: 'User', name: 'nobody', apiGroup: 'rbac.authorization.k8s.io' }];
  assert.equal(
    (await api.call('POST', bindings, { body: { metadata: { name: 'b' }, roleRef, subjects } })).status,
    201,
  );
  await api.call('GET', roles);
  const write = (name: string, verbs: readonly string[]) =>
    api.call('POST', roles, { as: 'nobody', body: { metadata: { name }, rules: rules(['roles'], verbs) } });
  assert.equal((await write('same', ['get'])).status, 201);
  assert.equal((await write('more', ['delete'])).status, 403);
  const clusterAdmin = { apiGroup: 'rbac.authorization.k8s.io', kind: 'ClusterRole', name: 'cluster-admin' };
  const self = { metadata: { name: 'self' }, roleRef: clusterAdmin, subjects };
  assert.equal((await api.call('POST', bindings, { as: 'nobody', body: self })).status, 403);
});
