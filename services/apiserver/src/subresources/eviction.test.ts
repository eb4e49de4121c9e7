import assert from 'node:assert/strict';
import { afterEach, beforeEach, test } from 'node:test';
import { formatTime } from '@holdfast/platform';
import { objectKey } from '@holdfast/store';
import { createMemoryStore } from '@holdfast/store/memory';
import { encodeStored } from '../cache/stored-json.ts';
import { type Answer, podBody, startTestApi, type TestApi, valueAt } from '../testing/fixture.ts';

const PODS = '/api/v1/namespaces/default/pods';
const BUDGETS = '/apis/policy/v1/namespaces/default/poddisruptionbudgets';
const REFUSAL = "Cannot evict pod as it would violate the pod's disruption budget.";

let api: TestApi;
beforeEach(async () => {
  api = await startTestApi({ store: createMemoryStore() });
});
afterEach(() => api.stop());

const READY = { phase: 'Running', conditions: [{ type: 'Ready', status: 'True' }] };
const UNREADY = { phase: 'Running', conditions: [{ type: 'Ready', status: 'False' }] };

async function makePod(name: string, status: object = READY, spec: object = {}): Promise<void> {
  const metadata = { labels: { app: 'web' } };
  const created = await api.call('POST', PODS, { body: podBody(name, { metadata, spec: { nodeName: 'a', ...spec } }) });
  assert.equal(created.status, 201);
  assert.equal((await api.call('PATCH', `${PODS}/${name}/status`, { body: { status } })).status, 200);
}

/** The others that the usual budget counts. */
async function makeOthers(): Promise<void> {
  for (const name of ['other-1', 'other-2']) await makePod(name);
}

const COUNTED = { observedGeneration: 1, currentHealthy: 3, desiredHealthy: 2, expectedPods: 3, disruptionsAllowed: 1 };

/** A budget with what its controller would have counted. */
async function makeBudget(status: object = {}, spec: object = {}, name = 'web'): Promise<void> {
  const selector = { matchLabels: { app: 'web' } };
  const created = await api.call('POST', BUDGETS, {
    body: { metadata: { name }, spec: { minAvailable: 2, selector, ...spec } },
  });
  assert.equal(created.status, 201);
  const counted = await api.call('PATCH', `${BUDGETS}/${name}/status`, { body: { status: { ...COUNTED, ...status } } });
  assert.equal(counted.status, 200, JSON.stringify(counted.body));
}

/** A state that no request can write. */
async function overdraw(): Promise<void> {
  const key = objectKey({ group: 'policy', resource: 'poddisruptionbudgets', namespace: 'default', name: 'web' });
  const { object } = await api.store.get(key);
  const budget = JSON.parse(object?.value ?? '{}');
  const value = encodeStored({ ...budget, status: { ...budget.status, disruptionsAllowed: -1 } });
  const expectedRevision = object?.revision ?? 0;
  const { outcome } = await api.store.write([{ kind: 'update', key, value, expectedRevision }]);
  assert.equal(outcome, 'committed');
}

const evict = (name: string, more: object = {}, query = ''): Promise<Answer> =>
  api.call('POST', `${PODS}/${name}/eviction${query}`, {
    body: { apiVersion: 'policy/v1', kind: 'Eviction', metadata: { name }, ...more },
  });
const podOf = (name: string): Promise<Answer> => api.call('GET', `${PODS}/${name}`);
const budgetOf = (name = 'web'): Promise<Answer> => api.call('GET', `${BUDGETS}/${name}`);
const causeOf = (answer: Answer): unknown => answer.at('details.causes.0.message');

test('[DISR-02] [DISR-11] [DISR-16] an eviction is answered 201 and terminates the pod with its own grace period; a plain delete ignores budgets', async () => {
  await makePod('p', READY, { terminationGracePeriodSeconds: 77 });
  await makePod('q');
  await makePod('r');
  await makeBudget();
  const answer = await evict('p');
  assert.deepEqual(answer.body, { kind: 'Status', apiVersion: 'v1', metadata: {}, status: 'Success', code: 201 });
  assert.equal(answer.status, 201);
  assert.equal((await podOf('p')).at('metadata.deletionGracePeriodSeconds'), 77);
  assert.equal((await budgetOf()).at('status.disruptionsAllowed'), 0);
  assert.equal((await evict('q')).status, 429);
  assert.equal((await api.call('DELETE', `${PODS}/q`)).status, 200);
});

test('[DISR-16] an eviction without a grace period uses the default of the pod, one with a period uses that period', async () => {
  await makePod('p');
  await makePod('q', READY, { terminationGracePeriodSeconds: 77 });
  assert.equal((await evict('p')).status, 201);
  assert.equal((await podOf('p')).at('metadata.deletionGracePeriodSeconds'), 30);
  assert.equal((await evict('q', { deleteOptions: { gracePeriodSeconds: 5 } })).status, 201);
  assert.equal((await podOf('q')).at('metadata.deletionGracePeriodSeconds'), 5);
});

test('[DISR-12] an exhausted budget refuses with its figures, an uncalculated one asks to retry after 10 s', async () => {
  await makePod('p');
  await makePod('unready', UNREADY);
  const selector = { matchLabels: { app: 'web' } };
  await api.call('POST', BUDGETS, { body: { metadata: { name: 'web' }, spec: { minAvailable: 1, selector } } });
  for (const name of ['p', 'unready']) assert.equal((await evict(name)).headers['retry-after'], '10');
  await api.call('DELETE', `${BUDGETS}/web`);
  await makeBudget({ disruptionsAllowed: 0, currentHealthy: 1 });
  const full = await evict('p');
  assert.deepEqual([full.status, full.at('reason'), full.at('message')], [429, 'TooManyRequests', REFUSAL]);
  assert.equal(full.at('details.causes.0.reason'), 'DisruptionBudget');
  assert.equal(causeOf(full), 'The disruption budget web needs 2 healthy pods and has 1 currently');
  assert.equal(full.headers['retry-after'], undefined);
  await api.call('PATCH', `${BUDGETS}/web`, { body: { spec: { minAvailable: 1 } } });
  const uncounted = await evict('p');
  assert.deepEqual([uncounted.status, uncounted.at('message')], [429, REFUSAL]);
  assert.equal(causeOf(uncounted), 'The disruption budget web is still being processed by the server.');
  assert.equal(uncounted.headers['retry-after'], '10');
  assert.equal((await podOf('p')).at('metadata.deletionTimestamp'), undefined);
});

test('[DISR-27] [DISR-30] the same write marks the pod as terminating and sets its DisruptionTarget condition', async () => {
  await makePod('p');
  const before = Number((await podOf('p')).at('metadata.resourceVersion'));
  const changes = api.watch(`${PODS}?watch=true&resourceVersion=${before}`, 1);
  assert.equal((await evict('p')).status, 201);
  const [change] = await changes;
  const pod = await podOf('p');
  assert.equal(change?.type, 'MODIFIED');
  assert.equal(pod.at('metadata.resourceVersion'), valueAt(change?.object, 'metadata.resourceVersion'));
  assert.equal(typeof pod.at('metadata.deletionTimestamp'), 'string');
  const { lastTransitionTime, ...mark } = Object(pod.at('status.conditions.1'));
  assert.equal(typeof lastTransitionTime, 'string');
  assert.deepEqual(mark, {
    type: 'DisruptionTarget',
    status: 'True',
    reason: 'EvictionByEvictionAPI',
    message: 'Eviction API: evicting',
  });
});

test('[DISR-17] an eviction records its pod and consumes one disruption in one write; the last one changes the condition', async () => {
  await makePod('p');
  await makeOthers();
  const lastTransitionTime = '2020-01-01T00:00:00Z';
  const allowed = { type: 'DisruptionAllowed', status: 'True', reason: 'SufficientPods', message: '' };
  await makeBudget({ conditions: [{ ...allowed, lastTransitionTime }] });
  const before = Number((await budgetOf()).at('metadata.resourceVersion'));
  const changes = api.watch(`${BUDGETS}?watch=true&resourceVersion=${before}`, 1);
  assert.equal((await evict('p')).status, 201);
  const [change] = await changes;
  const budget = await budgetOf();
  assert.equal(valueAt(change?.object, 'metadata.resourceVersion'), budget.at('metadata.resourceVersion'));
  assert.deepEqual(Object.keys(Object(budget.at('status.disruptedPods'))), ['p']);
  assert.equal(budget.at('status.disruptionsAllowed'), 0);
  assert.deepEqual(
    [budget.at('status.conditions.0.status'), budget.at('status.conditions.0.reason')],
    ['False', 'InsufficientPods'],
  );
  assert.notEqual(budget.at('status.conditions.0.lastTransitionTime'), lastTransitionTime);
});

test('[DISR-08] [DISR-17] a hundred concurrent evictions through two servers consume exactly what the budget allows', async (t) => {
  const other = await startTestApi({ store: api.store });
  t.after(() => other.server.stop());
  const names = Array.from({ length: 100 }, (_, n) => `p${n}`);
  for (const name of names) await makePod(name);
  await makeBudget({ disruptionsAllowed: 17, currentHealthy: 100, desiredHealthy: 83, expectedPods: 100 });
  const answers = await Promise.all(
    names.map((name, n) =>
      (n % 2 === 0 ? api : other).call('POST', `${PODS}/${name}/eviction`, {
        body: { apiVersion: 'policy/v1', kind: 'Eviction', metadata: { name } },
      }),
    ),
  );
  const evicted = names.filter((_, n) => answers[n]?.status === 201);
  assert.equal(evicted.length, 17);
  assert.equal(answers.filter(({ status }) => status === 429).length, 83);
  const budget = await budgetOf();
  assert.equal(budget.at('status.disruptionsAllowed'), 0);
  assert.deepEqual(Object.keys(Object(budget.at('status.disruptedPods'))).toSorted(), evicted.toSorted());
  const pods = Object((await api.call('GET', PODS)).body).items as readonly { metadata: Record<string, unknown> }[];
  const going = pods.filter(({ metadata }) => metadata['deletionTimestamp'] !== undefined);
  assert.deepEqual(new Set(going.map(({ metadata }) => metadata['name'])), new Set(evicted));
});

test('[DISR-17] many concurrent evictions of the same pod consume one disruption', async () => {
  await makePod('p');
  await makeOthers();
  await makeBudget({ disruptionsAllowed: 5 });
  const answers = await Promise.all(Array.from({ length: 8 }, () => evict('p')));
  assert.deepEqual(new Set(answers.map(({ status }) => status)), new Set([201]));
  assert.equal((await budgetOf()).at('status.disruptionsAllowed'), 4);
});

test('[DISR-17] pending, finished and terminating pods consume no disruption, whatever the budgets allow', async () => {
  await makeBudget({ disruptionsAllowed: 0 });
  await makeBudget({ disruptionsAllowed: 0 }, {}, 'second');
  for (const phase of ['Pending', 'Succeeded', 'Failed']) {
    await makePod(phase.toLowerCase(), { phase });
    assert.equal((await evict(phase.toLowerCase())).status, 201, phase);
  }
  await makePod('going');
  await api.call('DELETE', `${PODS}/going`);
  assert.equal((await evict('going')).status, 201);
  assert.equal((await budgetOf()).at('status.disruptedPods'), undefined);
});

test('[DISR-15] an unready pod waits for a healthy budget, unless the budget always allows its eviction', async () => {
  const table: readonly [string, object, object, number][] = [
    ['enough others are healthy', { disruptionsAllowed: 0, currentHealthy: 2, desiredHealthy: 2 }, {}, 201],
    ['too few are', { disruptionsAllowed: 0, currentHealthy: 1, desiredHealthy: 2 }, {}, 429],
    ['none is demanded: then it costs', { disruptionsAllowed: 0, currentHealthy: 1, desiredHealthy: 0 }, {}, 429],
    [
      'too few are, said aloud',
      { disruptionsAllowed: 0, currentHealthy: 1, desiredHealthy: 2 },
      { unhealthyPodEvictionPolicy: 'IfHealthyBudget' },
      429,
    ],
    [
      'it may always go',
      { disruptionsAllowed: 0, currentHealthy: 0, desiredHealthy: 2 },
      { unhealthyPodEvictionPolicy: 'AlwaysAllow' },
      201,
    ],
  ];
  for (const [index, [title, status, spec, expected]] of table.entries()) {
    await makePod(`p${index}`, UNREADY);
    await makeBudget(status, spec);
    assert.equal((await evict(`p${index}`)).status, expected, title);
    assert.equal((await budgetOf()).at('status.disruptedPods'), undefined, title);
    await api.call('DELETE', `${BUDGETS}/web`);
  }
  await makePod('ready');
  await makeBudget({ disruptionsAllowed: 0 }, { unhealthyPodEvictionPolicy: 'AlwaysAllow' });
  assert.equal((await evict('ready')).status, 429, 'a healthy pod is guarded by every policy');
});

test('[DISR-17] more than one budget is 500, a negative one and an unobserved one are 403', async () => {
  await makeOthers();
  await makePod('p');
  await makeBudget();
  await overdraw();
  const negative = await evict('p');
  assert.deepEqual(
    [negative.status, negative.at('message')],
    [403, 'poddisruptionbudget.policy "web" is forbidden: pdb disruptions allowed is negative'],
  );
  const at = formatTime(0);
  const crowd = (count: number) => Object.fromEntries(Array.from({ length: count }, (_, n) => [`gone-${n}`, at]));
  await api.call('PATCH', `${BUDGETS}/web/status`, {
    body: { status: { disruptionsAllowed: 1, disruptedPods: crowd(2001) } },
  });
  const crowded = await evict('p');
  assert.deepEqual(
    [crowded.status, crowded.at('reason'), crowded.at('message')],
    [
      403,
      'Forbidden',
      'poddisruptionbudget.policy "web" is forbidden: DisruptedPods map too big - too many evictions not confirmed by PDB controller',
    ],
  );
  await makeBudget({}, {}, 'second');
  const two = await evict('p');
  assert.equal(two.status, 500);
  assert.equal(
    two.at('message'),
    'This pod has more than one PodDisruptionBudget, which the eviction subresource does not support.',
  );
  await api.call('DELETE', `${BUDGETS}/second`);
  await api.call('PATCH', `${BUDGETS}/web/status`, { body: { status: { disruptedPods: { 'gone-0': null } } } });
  assert.equal((await evict('p')).status, 201, 'two thousand are not too many');
});

test('[DISR-06] a budget without a selector protects nothing, an empty selector everything', async () => {
  await makePod('p');
  await api.call('POST', BUDGETS, { body: { metadata: { name: 'none' }, spec: { minAvailable: 1 } } });
  assert.equal((await evict('p')).status, 201);
  await makePod('q');
  await makeBudget({ disruptionsAllowed: 0 }, { selector: {} }, 'all');
  assert.equal((await evict('q')).status, 429);
});

test('a dry run is evaluated like the real request and changes nothing', async () => {
  await makeOthers();
  await makePod('p');
  await makeBudget();
  for (const dry of [() => evict('p', {}, '?dryRun=All'), () => evict('p', { deleteOptions: { dryRun: ['All'] } })]) {
    assert.equal((await dry()).status, 201);
  }
  const pod = await podOf('p');
  assert.deepEqual([pod.at('metadata.deletionTimestamp'), pod.at('status.conditions.1')], [undefined, undefined]);
  assert.equal((await budgetOf()).at('status.disruptionsAllowed'), 1);
  await api.call('PATCH', `${BUDGETS}/web/status`, { body: { status: { disruptionsAllowed: 0 } } });
  assert.equal((await evict('p', {}, '?dryRun=All')).status, 429);
});

test('preconditions are enforced, and the name in the body must match the path', async () => {
  await makePod('p');
  const stale = await evict('p', { deleteOptions: { preconditions: { resourceVersion: '1' } } });
  assert.equal(stale.status, 409);
  assert.equal((await evict('p', { deleteOptions: { preconditions: { uid: 'another' } } })).status, 409);
  const misnamed = await evict('p', { metadata: { name: 'q' } });
  assert.deepEqual(
    [misnamed.status, misnamed.at('message')],
    [400, 'name in URL does not match name in Eviction object'],
  );
  assert.equal((await evict('absent')).status, 404);
  assert.equal((await podOf('p')).at('metadata.deletionTimestamp'), undefined);
});

test('[DISR-34] an application owner makes budgets, an administrator only evicts', async () => {
  const role = async (name: string, rule: object): Promise<void> => {
    const rbac = '/apis/rbac.authorization.k8s.io/v1/namespaces/default';
    await api.call('POST', `${rbac}/roles`, { body: { metadata: { name }, rules: [rule] } });
    const roleRef = { apiGroup: 'rbac.authorization.k8s.io', kind: 'Role', name };
    const subjects = [{ kind: 'User', name: 'nobody', apiGroup: 'rbac.authorization.k8s.io' }];
    await api.call('POST', `${rbac}/rolebindings`, { body: { metadata: { name }, roleRef, subjects } });
  };
  const as = 'nobody';
  const body = { metadata: { name: 'mine' }, spec: { minAvailable: 1, selector: {} } };
  const eviction = { apiVersion: 'policy/v1', kind: 'Eviction', metadata: { name: 'p' } };
  await makePod('p');
  await role('evictor', { apiGroups: [''], resources: ['pods/eviction'], verbs: ['create'] });
  assert.equal((await api.call('POST', BUDGETS, { as, body })).status, 403);
  assert.equal((await api.call('DELETE', `${PODS}/p`, { as })).status, 403);
  assert.equal((await api.call('POST', `${PODS}/p/eviction`, { as, body: eviction })).status, 201);
  await role('owner', { apiGroups: ['policy'], resources: ['poddisruptionbudgets'], verbs: ['create'] });
  assert.equal((await api.call('POST', BUDGETS, { as, body })).status, 201);
});

test('[DISR-08] pods lost since the budget was calculated count: an eviction finds them gone or unready', async () => {
  for (const name of ['p', 'q', 'r', 's']) await makePod(name);
  await makeBudget({ disruptionsAllowed: 2, currentHealthy: 4, expectedPods: 4 });
  assert.equal((await api.call('PATCH', `${PODS}/q/status`, { body: { status: UNREADY } })).status, 200);
  assert.equal((await api.call('DELETE', `${PODS}/r`)).status, 200);
  const refused = await evict('p');
  assert.equal(refused.status, 429);
  assert.equal(causeOf(refused), 'The disruption budget web needs 2 healthy pods and has 2 currently');
  assert.equal((await budgetOf()).at('status.disruptionsAllowed'), 2, 'nothing is spent');
  assert.equal((await api.call('PATCH', `${PODS}/q/status`, { body: { status: READY } })).status, 200);
  assert.equal((await evict('p')).status, 201);
  assert.equal((await evict('s')).status, 429);
});
