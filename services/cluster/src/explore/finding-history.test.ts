import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import { createSystemClock } from '@holdfast/platform';
import { RunningCluster } from '../cluster.ts';
import { explore } from './explore.ts';
import type { Plan } from './plans.ts';
import { readWorkload } from './workload.ts';

/** Creates `default/a` once, whatever the answer is. */
const GIVES_UP = `
const config = require('node:fs').readFileSync(process.env.KUBECONFIG, 'utf8');
process.env.NODE_TLS_REJECT_UNAUTHORIZED = '0';
const headers = { authorization: 'Bearer ' + /token: (\\S+)/.exec(config)[1], 'content-type': 'application/json' };
const url = /server: (\\S+)/.exec(config)[1] + '/api/v1/namespaces/default/configmaps';
fetch(url, { method: 'POST', headers, body: '{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"a"}}' });
setInterval(() => {}, 1000);
`;

const THROTTLED: Plan = {
  kind: 'throttled',
  write: { verb: 'create', resource: 'configmaps', namespace: 'default', name: 'a', nth: 1 },
};

const ONE = { apiVersion: 'v1', kind: 'ConfigMap', metadata: { name: 'one', namespace: 'default' } };

async function findingOf(historyOfFindings: boolean) {
  const { accusations } = await explore({
    workload: readWorkload({ steps: [{ apply: ONE }] }),
    command: [process.execPath, '-e', GIVES_UP],
    env: {},
    clock: createSystemClock(),
    hollowNodes: 0,
    quietMs: 100,
    startWithinMs: 60_000,
    seed: 1,
    plans: 1,
    withinMs: 3_600_000,
    only: THROTTLED,
    historyOfFindings,
  });
  const [accusation, ...others] = accusations;
  assert.ok(accusation !== undefined && others.length === 0);
  assert.deepEqual(
    accusation.findings.map(({ text }) => text),
    ['core/configmaps/default/a is missing'],
  );
  return accusation.result;
}

const reads = (t: TestContext) =>
  t.mock.method(RunningCluster.prototype, 'history', () => Promise.reject(new Error('the history is gone')));

test('a finding whose history cannot be read is told all the same, with the reason', async (t) => {
  const { mock } = reads(t);
  const { history, historyFailure, faultMs } = await findingOf(true);
  assert.deepEqual([history, historyFailure, mock.callCount()], [[], 'the history is gone', 1]);
  assert.ok(faultMs !== undefined);
});

test('the history of a finding is not read when nobody asked for it', async (t) => {
  const { mock } = reads(t);
  const { history, historyFailure } = await findingOf(false);
  assert.deepEqual([history, historyFailure, mock.callCount()], [[], undefined, 0]);
});
