import { strict as assert } from 'node:assert';
import { afterEach, beforeEach, test } from 'node:test';
import { createSystemClock } from '@holdfast/platform';
import type { User } from '../authentication/identity.ts';
import { TURN_MS } from '../limits.ts';
import { configMapBody, startTestApi, type TestApi } from '../testing/fixture.ts';

const LEASES = '/apis/coordination.k8s.io/v1/namespaces/kube-node-lease/leases';
/** Equal parts of so many would be too little for a node. */
const USERS = Array.from({ length: 300 }, (_, index) => `u${index}`);
const WRITES_OF_EACH = 2;
const ROUNDS = 5;
const MERGE_PATCH = { 'content-type': 'application/merge-patch+json' };

let api: TestApi;
beforeEach(async () => {
  let now = 0;
  const tokens = new Map<string, User>([['node-a', { name: 'system:node:a', groups: ['system:nodes'] }]]);
  for (const name of ['admin', ...USERS]) tokens.set(name, { name, groups: ['system:masters'] });
  api = await startTestApi({
    // Each read of this clock ends the turn: a new request has to wait.
    clock: { ...createSystemClock(), monotonic: () => (now += 2 * TURN_MS) },
    tokens,
  });
  await api.call('POST', '/api/v1/nodes', { body: { metadata: { name: 'a' } } });
  await api.call('POST', LEASES, { body: { metadata: { name: 'a' }, spec: { holderIdentity: 'a' } } });
});
afterEach(() => api.stop());

test('a heartbeat overtakes more user writes than the server accepts', async () => {
  let done = 0;
  const writes = USERS.flatMap((as) =>
    Array.from({ length: WRITES_OF_EACH }, async (_, index) => {
      const body = configMapBody(`${as}-${index}`, { k: 'v' });
      const { status } = await api.call('POST', '/api/v1/namespaces/default/configmaps', { as, body });
      if (status === 201) done += 1;
      return status;
    }),
  );
  const beats = [
    [`${LEASES}/a`, (round: number) => ({ spec: { leaseDurationSeconds: 40 + round } })],
    [
      '/api/v1/nodes/a/status',
      (round: number) => ({ status: { conditions: [{ type: 'Ready', status: 'True', reason: `R${round}` }] } }),
    ],
  ] as const;
  for (let round = 0; round < ROUNDS; round += 1) {
    for (const [path, body] of beats) {
      const { status } = await api.call('PATCH', path, { as: 'node-a', headers: MERGE_PATCH, body: body(round) });
      assert.equal(status, 200);
    }
  }
  assert.ok(done < USERS.length / 10, `${done} writes of users ended before ${2 * ROUNDS} heartbeats`);
  const statuses = await Promise.all(writes);
  assert.ok(statuses.every((status) => status === 201 || status === 429));
});
