import { strict as assert } from 'node:assert';
import { type TestContext, test } from 'node:test';
import { type Answer, startTestApi, type TestApi } from '../testing/fixture.ts';

const STATUS = '/api/v1/nodes/a/status';
const READY = { type: 'Ready', status: 'True', reason: 'KubeletReady' };

async function startWithNode(t: TestContext): Promise<TestApi> {
  const api = await startTestApi();
  t.after(() => api.stop());
  await api.call('POST', '/api/v1/nodes', { as: 'node-a', body: { metadata: { name: 'a' } } });
  return api;
}

const fenced = (status: string, reason: string) => ({ type: 'Fenced', status, reason });

const tell = (api: TestApi, as: string, conditions: readonly unknown[]): Promise<Answer> =>
  api.call('PATCH', STATUS, { as, body: { status: { conditions } } });

async function readiness(api: TestApi): Promise<string> {
  const { body } = await api.call('GET', '/api/v1/nodes/a');
  const { status } = body as { status: { conditions: readonly { type: string; status: string; reason: string }[] } };
  const ready = status.conditions.find(({ type }) => type === 'Ready');
  return `${ready?.status} ${ready?.reason}`;
}

test('[FENCE-08] a fenced machine that still sends heartbeats does not become ready before it is unfenced', async (t) => {
  const api = await startWithNode(t);
  const down = fenced('True', 'NodeFenced');
  assert.equal((await tell(api, 'admin', [down])).status, 200);
  assert.equal((await tell(api, 'node-a', [READY, down])).status, 200);
  assert.equal(await readiness(api), 'False NodeFenced');
  const up = fenced('False', 'Unfenced');
  await tell(api, 'admin', [READY, up]);
  assert.equal((await tell(api, 'node-a', [READY, up])).status, 200);
  assert.equal(await readiness(api), 'True KubeletReady');
});

test('[FENCE-08] a node whose path to a storage server is cut stays ready', async (t) => {
  const api = await startWithNode(t);
  const cut = fenced('True', 'StorageFenced');
  await tell(api, 'admin', [cut]);
  assert.equal((await tell(api, 'node-a', [READY, cut])).status, 200);
  assert.equal(await readiness(api), 'True KubeletReady');
});

for (const as of ['node-a', 'manager', 'scheduler']) {
  test(`[FENCE-06] [FENCE-08] ${as} neither confirms a fence nor lifts one`, async (t) => {
    const api = await startWithNode(t);
    const confirm = await tell(api, as, [fenced('True', 'NodeFenced')]);
    assert.equal(confirm.status, 403, 'confirmed');
    await tell(api, 'admin', [fenced('True', 'NodeFenced')]);
    assert.equal((await tell(api, as, [fenced('False', 'Unfenced')])).status, 403, 'lifted');
    assert.equal((await tell(api, as, [READY])).status, 403, 'dropped');
  });
}

for (const as of ['node-a', 'manager']) {
  test(`[FENCE-06] [FENCE-08] ${as} cannot state a fence by a second condition or by annotations`, async (t) => {
    const api = await startWithNode(t);
    const { body } = await api.call('GET', '/api/v1/nodes/a');
    const put = (conditions: readonly unknown[]): Promise<Answer> =>
      api.call('PUT', STATUS, { as, body: { ...(body as object), status: { conditions } } });
    const twice = await put([fenced('', ''), fenced('True', 'NodeFenced')]);
    assert.equal(twice.status, 403, 'behind one that says nothing');
    await tell(api, 'admin', [fenced('True', 'StorageFenced')]);
    for (const path of ['/api/v1/nodes/a', STATUS]) {
      for (const key of ['claim', 'unfence', 'requested', 'release', 'partitioned']) {
        const metadata = { annotations: { [`fencing/${key}`]: 'true' } };
        assert.equal((await api.call('PATCH', path, { as, body: { metadata } })).status, 403, `${key} by ${path}`);
      }
    }
    await api.call('PATCH', '/api/v1/nodes/a', { body: { metadata: { annotations: { 'fencing/claim': '{}' } } } });
    const lose = { metadata: { annotations: { 'fencing/claim': null, note: 'mine' } } };
    assert.equal(
      (await api.call('PATCH', '/api/v1/nodes/a', { as, body: lose })).status,
      403,
      'the note of the fencer',
    );
    const own = { metadata: { annotations: { note: 'mine' } } };
    assert.equal((await api.call('PATCH', '/api/v1/nodes/a', { as, body: own })).status, 200, 'its own');
  });
}

test('[FENCE-06] [FENCE-07] the fencer taints or deletes a node only after the condition says that its fence is confirmed', async (t) => {
  const api = await startWithNode(t);
  const taints = [{ key: 'node.kubernetes.io/out-of-service', effect: 'NoExecute' }];
  const taint = async () => {
    const { body } = await api.call('GET', '/api/v1/nodes/a');
    return api.call('PUT', '/api/v1/nodes/a', { as: 'fencer', body: { ...(body as object), spec: { taints } } });
  };
  for (const condition of [undefined, fenced('Unknown', 'FencingStarted'), fenced('True', 'StorageFenced')]) {
    await tell(api, 'admin', condition === undefined ? [] : [condition]);
    assert.equal((await taint()).status, 403, `${condition?.reason}`);
    assert.equal((await api.call('DELETE', '/api/v1/nodes/a', { as: 'fencer' })).status, 403);
  }
  await tell(api, 'admin', [fenced('True', 'NodeFenced')]);
  assert.equal((await taint()).status, 200);
  assert.equal((await api.call('DELETE', '/api/v1/nodes/a', { as: 'fencer' })).status, 200);
});

test('[FENCE-02] lists of nodes show a fence in progress and a confirmed fence', async (t) => {
  const api = await startWithNode(t);
  const shown = async (): Promise<unknown> => {
    const headers = { accept: 'application/json;as=Table;v=v1;g=meta.k8s.io' };
    return (await api.call('GET', '/api/v1/nodes', { headers })).at('rows.0.cells.1');
  };
  await tell(api, 'admin', [READY]);
  assert.equal(await shown(), 'Ready');
  await tell(api, 'admin', [{ ...READY, status: 'Unknown' }, fenced('Unknown', 'FencingStarted')]);
  assert.equal(await shown(), 'NotReady,Fencing');
  await tell(api, 'admin', [{ ...READY, status: 'Unknown' }, fenced('True', 'NodeFenced')]);
  assert.equal(await shown(), 'NotReady,Fenced');
  await tell(api, 'admin', [READY, fenced('False', 'Unfenced')]);
  assert.equal(await shown(), 'Ready');
});
