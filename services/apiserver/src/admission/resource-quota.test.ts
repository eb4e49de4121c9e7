import { strict as assert } from 'node:assert';
import { once } from 'node:events';
import { afterEach, beforeEach, describe, test } from 'node:test';
import { createSystemClock } from '@holdfast/platform';
import { writingBy } from '@holdfast/store';
import { createMemoryStore } from '@holdfast/store/memory';
import { QUOTA_UNKNOWN_MS } from '../limits.ts';
import { configMapBody, podBody, startTestApi, type TestApi } from '../testing/fixture.ts';

const NAMESPACE = '/api/v1/namespaces/default';
const QUOTAS = `${NAMESPACE}/resourcequotas`;

let api: TestApi;
beforeEach(async () => {
  api = await startTestApi();
});
afterEach(() => api.stop());

/** A quota whose status is known, as the quota controller leaves it. */
async function quota(name: string, hard: Record<string, string>, spec: object = {}, used = zeros(hard)): Promise<void> {
  const created = await api.call('POST', QUOTAS, { body: { metadata: { name }, spec: { hard, ...spec } } });
  assert.equal(created.status, 201, JSON.stringify(created.body));
  const body = { ...(created.body as object), status: { hard, used } };
  const armed = await api.call('PUT', `${QUOTAS}/${name}/status`, { body });
  assert.equal(armed.status, 200, JSON.stringify(armed.body));
  await api.call('GET', QUOTAS);
}

const zeros = (hard: Record<string, string>): Record<string, string> =>
  Object.fromEntries(Object.keys(hard).map((name) => [name, '0']));
const used = async (name: string): Promise<unknown> => (await api.call('GET', `${QUOTAS}/${name}`)).at('status.used');
const pod = (name: string, spec: object = {}, query = '') =>
  api.call('POST', `${NAMESPACE}/pods${query}`, { body: podBody(name, { spec }) });
const containers = (resources: object): object => ({ containers: [{ name: 'c', image: 'i', resources }] });

describe('the counted resources', () => {
  test('pods are limited to the hard limit of the quota', async () => {
    await quota('q', { pods: '2' });
    assert.equal((await pod('a')).status, 201);
    assert.equal((await pod('b')).status, 201);
    const refused = await pod('c');
    assert.equal(refused.status, 403);
    assert.equal(
      refused.at('message'),
      'pods "c" is forbidden: exceeded quota: q, requested: pods=1, used: pods=2, limited: pods=2',
    );
    assert.deepEqual(await used('q'), { pods: '2' });
  });

  test('requests of a pod: the sum of containers, the maximum of init containers, sidecars beside both', async () => {
    await quota('q', { 'requests.cpu': '2', 'limits.memory': '4Gi', cpu: '2', 'requests.example.com/gpu': '3' });
    const amounts = (cpu: string, memory: string, gpu = '1') => ({
      requests: { cpu, memory, 'example.com/gpu': gpu },
      limits: { memory, 'example.com/gpu': gpu },
    });
    const created = await pod('p', {
      containers: [{ name: 'c', image: 'i', resources: amounts('500m', '1Gi') }],
      initContainers: [
        { name: 's', image: 'i', restartPolicy: 'Always', resources: amounts('100m', '256Mi') },
        { name: 'i', image: 'i', resources: amounts('700m', '512Mi') },
      ],
    });
    assert.equal(created.status, 201, JSON.stringify(created.body));
    assert.deepEqual(await used('q'), {
      cpu: '800m',
      'requests.cpu': '800m',
      'limits.memory': '1280Mi',
      'requests.example.com/gpu': '2',
    });
  });

  test('a quota of cpu or memory requires pods to set them', async () => {
    await quota('q', { 'limits.cpu': '2', 'requests.memory': '1Gi' });
    const refused = await pod('p', {
      containers: [
        { name: 'b', image: 'i' },
        { name: 'a', image: 'i', resources: { limits: { cpu: '1' } } },
      ],
    });
    assert.equal(
      refused.at('message'),
      'pods "p" is forbidden: failed quota: q: must specify limits.cpu for: b; requests.memory for: a,b',
    );
  });

  test('objects by name and by count/', async () => {
    await quota('q', { configmaps: '1', 'count/secrets': '1', 'count/deployments.apps': '0' });
    assert.equal((await api.call('POST', `${NAMESPACE}/configmaps`, { body: configMapBody('a') })).status, 201);
    const second = await api.call('POST', `${NAMESPACE}/configmaps`, { body: configMapBody('b') });
    assert.match(second.textAt('message'), /requested: configmaps=1, used: configmaps=1, limited: configmaps=1/);
    const template = { metadata: { labels: { a: 'b' } }, spec: { containers: [{ name: 'c', image: 'i' }] } };
    const body = { metadata: { name: 'd' }, spec: { selector: { matchLabels: { a: 'b' } }, template } };
    const deployment = await api.call('POST', '/apis/apps/v1/namespaces/default/deployments', { body });
    assert.equal(
      deployment.at('message'),
      'deployments.apps "d" is forbidden: exceeded quota: q, requested: count/deployments.apps=1, used: count/deployments.apps=0, limited: count/deployments.apps=0',
    );
  });

  test('node ports and load balancers are counted, also in updates', async () => {
    await quota('q', { services: '5', 'services.nodeports': '2', 'services.loadbalancers': '0' });
    const ports = [{ port: 80 }, { port: 81, name: 'b' }].map((port, i) => ({ name: `p${i}`, ...port }));
    const service = (name: string, type: string) =>
      api.call('POST', `${NAMESPACE}/services`, { body: { metadata: { name }, spec: { type, ports } } });
    assert.equal((await service('a', 'ClusterIP')).status, 201);
    assert.equal((await service('b', 'NodePort')).status, 201);
    assert.match(
      (await service('c', 'LoadBalancer')).textAt('message'),
      /services.loadbalancers=1,services.nodeports=2/,
    );
    const grown = await api.call('PATCH', `${NAMESPACE}/services/a`, { body: { spec: { type: 'NodePort' } } });
    assert.match(grown.textAt('message'), /requested: services.nodeports=2, used: services.nodeports=2, limited: serv/);
    assert.deepEqual(await used('q'), { services: '2', 'services.nodeports': '2', 'services.loadbalancers': '0' });
  });

  test('storage is counted in total and by class; a claim that grows is charged the difference', async () => {
    const ofClass = 'fast.storageclass.storage.k8s.io/requests.storage';
    await quota('q', { 'requests.storage': '10Gi', persistentvolumeclaims: '3', [ofClass]: '4Gi' });
    const claim = (name: string, storage: string, storageClassName: string) =>
      api.call('POST', `${NAMESPACE}/persistentvolumeclaims`, {
        body: {
          metadata: { name },
          spec: { accessModes: ['ReadWriteOnce'], resources: { requests: { storage } }, storageClassName },
        },
      });
    assert.equal((await claim('a', '3Gi', 'fast')).status, 201);
    assert.match(
      (await claim('b', '2Gi', 'fast')).textAt('message'),
      /requested: fast\.storageclass.*=2Gi, used: .*=3Gi/,
    );
    assert.equal((await claim('b', '6Gi', 'slow')).status, 201);
    assert.deepEqual(await used('q'), { 'requests.storage': '9Gi', persistentvolumeclaims: '2', [ofClass]: '3Gi' });
  });
});

describe('scopes', () => {
  test('pick the pods that a quota applies to', async () => {
    await quota('ending', { pods: '0' }, { scopes: ['Terminating'] });
    await quota('best', { pods: '1' }, { scopes: ['BestEffort'] });
    const matchExpressions = [{ scopeName: 'PriorityClass', operator: 'In', values: ['system-node-critical'] }];
    await quota('critical', { pods: '0' }, { scopeSelector: { matchExpressions } });
    assert.match((await pod('a', { activeDeadlineSeconds: 5 })).textAt('message'), /exceeded quota: ending/);
    assert.equal((await pod('b')).status, 201);
    assert.match((await pod('c')).textAt('message'), /exceeded quota: best/);
    assert.equal((await pod('d', containers({ requests: { cpu: '1' } }))).status, 201);
    const critical = { ...containers({ requests: { cpu: '1' } }), priorityClassName: 'system-node-critical' };
    assert.match((await pod('e', critical)).textAt('message'), /exceeded quota: critical/);
    assert.deepEqual(await used('best'), { pods: '1' });
  });
});

describe('exactness', () => {
  test('a quota without calculated usage admits nothing; one without hard limits admits everything', async () => {
    await quota('q', { pods: '2' }, {}, {});
    assert.match((await pod('a')).textAt('message'), /status unknown for quota: q, resources: pods/);
    const body = { metadata: { name: 'r' }, spec: { hard: { configmaps: '0' } } };
    await api.call('POST', QUOTAS, { body });
    assert.equal((await api.call('POST', `${NAMESPACE}/configmaps`, { body: configMapBody('a') })).status, 201);
  });

  test('a dry run and a refused create consume nothing', async () => {
    await quota('q', { pods: '2' });
    assert.equal((await pod('a', {}, '?dryRun=All')).status, 201);
    assert.equal((await pod('a')).status, 201);
    assert.equal((await pod('a')).status, 409);
    assert.deepEqual(await used('q'), { pods: '1' });
  });

  test('concurrent creates through two servers consume exactly the available quota', async () => {
    await quota('q', { pods: '10' });
    const other = await startTestApi({ store: api.store });
    try {
      await other.call('GET', QUOTAS);
      const answers = await Promise.all(
        Array.from({ length: 40 }, (_, i) =>
          (i % 2 === 0 ? api : other).call('POST', `${NAMESPACE}/pods`, { body: podBody(`p${i}`) }),
        ),
      );
      assert.equal(answers.filter(({ status }) => status === 201).length, 10);
      assert.equal(answers.filter(({ status }) => status === 403).length, 30);
      assert.deepEqual(await used('q'), { pods: '10' });
      assert.equal((await api.call('GET', `${NAMESPACE}/pods`)).names().length, 10);
    } finally {
      await other.server.stop();
    }
  });

  test('a server whose cache lags counts for a quota that another server has stored', async (t) => {
    const { store } = api;
    let isLagging = false;
    const lagging: typeof store.changes = async function* (options) {
      for await (const changes of store.changes(options)) {
        if (isLagging) await once(options.signal, 'abort');
        yield changes;
      }
    };
    const system = createSystemClock();
    let laterMs = 0;
    const clock = { ...system, monotonic: () => system.monotonic() + laterMs };
    const same = writingBy(store, (operations, options) => store.write(operations, options));
    const other = await startTestApi({ clock, store: { ...same, changes: lagging } });
    t.after(() => other.server.stop());
    isLagging = true;
    await quota('q', { configmaps: '0' });
    laterMs = QUOTA_UNKNOWN_MS + 1;
    const refused = await other.call('POST', `${NAMESPACE}/configmaps`, { body: configMapBody('c') });
    assert.equal(refused.status, 403, JSON.stringify(refused.body));
  });

  test('the pod and the usage are one write', async () => {
    const store = createMemoryStore();
    const batches: number[] = [];
    const write: typeof store.write = (operations, options) => {
      batches.push(operations.length);
      return store.write(operations, options);
    };
    await api.stop();
    api = await startTestApi({ store: writingBy(store, write) });
    await quota('q', { pods: '10' });
    batches.length = 0;
    await pod('a');
    assert.deepEqual(batches, [2]);
  });
});
