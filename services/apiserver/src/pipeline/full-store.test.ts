import { strict as assert } from 'node:assert';
import { afterEach, beforeEach, test } from 'node:test';
import { createMemoryStore } from '@holdfast/store/memory';
import { type Answer, startTestApi, type TestApi } from '../testing/fixture.ts';

const CONFIG_MAPS = '/api/v1/namespaces/default/configmaps';
const LEASES = '/apis/coordination.k8s.io/v1/namespaces/kube-node-lease/leases';
const MIB = 1024 * 1024;

let api: TestApi;
beforeEach(async () => {
  api = await startTestApi({ store: createMemoryStore({ limits: { bytes: MIB, reserveBytes: MIB / 10 } }) });
});
afterEach(() => api.stop());

const configMap = (name: string, bytes: number): unknown => ({
  metadata: { name, finalizers: ['example.org/hold'] },
  data: { a: 'x'.repeat(bytes) },
});

const lease = (seconds: number): unknown => ({
  metadata: { name: 'a' },
  spec: { holderIdentity: 'a', leaseDurationSeconds: seconds },
});

/** Fills the store until even small objects are refused. */
async function fill(): Promise<Answer> {
  let name = 0;
  for (const bytes of [50_000, 1_000, 100]) {
    for (;;) {
      const answer = await api.call('POST', CONFIG_MAPS, { body: configMap(`c-${name++}`, bytes) });
      if (answer.status !== 201 && bytes === 100) return answer;
      if (answer.status !== 201) break;
    }
  }
  throw new Error('unreachable');
}

test('a full store refuses objects with the message of Kubernetes, and readiness and metrics report it', async () => {
  const refused = await fill();
  assert.deepEqual([refused.status, refused.at('kind'), refused.at('code')], [500, 'Status', 500]);
  assert.equal(refused.at('message'), 'etcdserver: mvcc: database space exceeded');
  assert.equal(refused.at('details.causes.0.reason'), 'StoreFull');
  const patched = await api.call('PATCH', `${CONFIG_MAPS}/c-0`, {
    body: { data: { b: 'y'.repeat(50_000) } },
    headers: { 'content-type': 'application/merge-patch+json' },
  });
  assert.equal(patched.status, 500);
  const ready = await api.call('GET', '/readyz?verbose');
  assert.equal(ready.status, 200, 'the server can still be used');
  assert.match(String(ready.body), /\[\+\]etcd ok, but the store is (nearly )?full: \d+ of 1048576 bytes are used/);
  const metrics = String((await api.call('GET', '/metrics')).body);
  assert.match(metrics, /^holdfast_store_full 1$/m);
  assert.match(metrics, /^holdfast_store_limit_bytes 1048576$/m);
  assert.match(metrics, /^apiserver_storage_size_bytes\{storage_cluster_id="etcd-0"\} 1?\d{6}$/m);
});

test('a full store still accepts heartbeats, status and leases of the system, and no other leases', async () => {
  const node = { metadata: { name: 'a' } };
  assert.equal((await api.call('POST', '/api/v1/nodes', { as: 'node-a', body: node })).status, 201);
  await fill();
  assert.equal((await api.call('POST', LEASES, { body: lease(1) })).status, 500);
  assert.equal((await api.call('POST', LEASES, { as: 'node-a', body: lease(40) })).status, 201);
  const status = { status: { conditions: [{ type: 'Ready', status: 'True' }] } };
  const headers = { 'content-type': 'application/merge-patch+json' };
  for (let beat = 0; beat < 50; beat++) {
    const renewed = await api.call('PATCH', `${LEASES}/a`, { as: 'node-a', headers, body: lease(40 + beat) });
    assert.equal(renewed.status, 200, renewed.textAt('message'));
    const beaten = await api.call('PATCH', '/api/v1/nodes/a/status', {
      as: 'node-a',
      headers,
      body: { ...status, metadata: { annotations: { beat: `${beat}` } } },
    });
    assert.equal(beaten.status, 200, beaten.textAt('message'));
  }
});

test('deletions in a full store free space, also when finalizers must be removed first', async () => {
  await fill();
  const names = (await api.call('GET', CONFIG_MAPS)).names().filter((name) => name.startsWith('c-'));
  for (const name of names) {
    assert.equal((await api.call('DELETE', `${CONFIG_MAPS}/${name}`)).status, 200);
    const released = await api.call('PATCH', `${CONFIG_MAPS}/${name}`, {
      body: { metadata: { finalizers: null } },
      headers: { 'content-type': 'application/merge-patch+json' },
    });
    assert.equal(released.status, 200, released.textAt('message'));
  }
  assert.equal((await api.call('POST', CONFIG_MAPS, { body: configMap('after', 100_000) })).status, 201);
  assert.match(String((await api.call('GET', '/metrics')).body), /^holdfast_store_full 0$/m);
  assert.match(String((await api.call('GET', '/readyz?verbose')).body), /\[\+\]etcd ok\n/);
});
