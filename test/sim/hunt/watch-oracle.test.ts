import assert from 'node:assert/strict';
import { test } from 'node:test';
import { PODS } from '@holdfast/api';
import type { ApiClient } from '@holdfast/client';
import { SimulationKernel } from '@holdfast/testing';
import type { SimCluster } from '../cluster.ts';
import { WatchOracle } from './watch-oracle.ts';

const KEY = 'core/pods/default/p';
const COMMITTED = [2, 3, 5];

/** When the store has taken these revisions and a watch after 1 has told those. */
async function oracleAfter(told: readonly number[], quietMs = 0): Promise<WatchOracle> {
  const kernel = new SimulationKernel(1);
  const client = {
    list: () => Promise.resolve({ items: [], resourceVersion: '1' }),
    watch: async function* () {
      for (const revision of told) yield { object: { metadata: { resourceVersion: `${revision}` } } };
      await new Promise(() => {});
    },
  } as unknown as ApiClient;
  const cluster = { kernel, background: () => undefined, watcher: client } as unknown as SimCluster;
  const oracle = new WatchOracle(cluster, { resource: PODS, clients: [client] });
  for (const revision of COMMITTED)
    oracle.committed({ revision, operation: { kind: 'update', key: KEY, value: '{}', expectedRevision: 1 } });
  oracle.committed({
    revision: 4,
    operation: { kind: 'delete', key: 'core/nodes/-/n', value: '{}', expectedRevision: 1 },
  });
  oracle.start();
  await kernel.runFor(1 + quietMs);
  oracle.stop();
  return oracle;
}

const verdictOn = async (told: readonly number[]): Promise<string | undefined> => (await oracleAfter(told)).check();

test('[TEST-07] rule: a watch tells every change of its kind once, in order', async () => {
  assert.equal(await verdictOn([2, 3, 5]), undefined);
  assert.match((await verdictOn([2, 5])) ?? '', /after revision 2 comes 5; the store has 3/, 'one is left out');
  assert.match((await verdictOn([2, 2, 3])) ?? '', /after revision 2 comes 2/, 'one is told again');
  assert.match((await verdictOn([2, 3, 5, 3])) ?? '', /after revision 5 comes 3/, 'it goes back');
  assert.match((await verdictOn([2, 3, 4])) ?? '', /after revision 3 comes 4/, 'one of another kind');
});

test('[TEST-07] rule: a watch that falls silent is found when everything is quiet', async () => {
  assert.equal((await oracleAfter([2, 3], 1_000)).untold(), undefined);
  assert.equal((await oracleAfter([2, 3, 5], 15_000)).untold(), undefined);
  assert.equal((await oracleAfter([2, 3], 15_000)).untold(), 'it is at revision 3 long after 5 was committed');
});
