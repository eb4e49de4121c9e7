import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import path from 'node:path';
import { test } from 'node:test';
import { SimulationFailure } from '@holdfast/testing';
import type { SimClusterOptions } from './cluster.ts';
import { LOSSY_BUS, runPartitionScenario } from './partition-scenario.ts';
import { confirmsTooEarly, forceDelete } from './planted-bugs.ts';

const SEEDS = Array.from({ length: 20 }, (_, i) => i + 1);
/** The planted bug has to be found within this many seeds. */
const SEEDS_TO_FIND = 5;

for (const seed of SEEDS) {
  test(`[SAFE-22] [SAFE-23] [SAFE-25] [SAFE-30] [TEST-01] a node is cut off and comes back (seed ${seed})`, async () => {
    const { identitiesStarted, identitiesLost } = await runPartitionScenario({ seed });
    assert.equal(identitiesStarted, 3 + identitiesLost, 'each lost one again, after its old process ended');
    assert.equal(identitiesLost, 1, 'all nodes took part when the pods came');
  });
}

for (const seed of SEEDS.slice(0, 10)) {
  test(`[TEST-10] the same with a bus that loses, duplicates and delays (seed ${seed})`, async () => {
    await runPartitionScenario({ seed, busQuality: LOSSY_BUS });
  });
}

/** The oracle's findings for the first seeds under these options. */
async function violations(
  options: Omit<SimClusterOptions, 'seed' | 'nodes' | 'identities'>,
): Promise<readonly string[]> {
  const found: string[] = [];
  for (let seed = 1; seed <= SEEDS_TO_FIND; seed++) {
    const failure = await runPartitionScenario({ seed, ...options }).then(
      () => undefined,
      (error: unknown) => error,
    );
    if (failure instanceof SimulationFailure && failure.oracle === 'at-most-one per identity')
      found.push(failure.message);
  }
  return found;
}

const TWO_LIVES = /default\/db-1 runs 2 times: uid .* on node-\d since .*, uid .* on node-\d/;

test('[TEST-07] planted bug: the oracle detects a node controller that force-deletes', async () => {
  const found = await violations({ podEviction: forceDelete, ownershipRule: 'off' });
  assert.equal(found.length, SEEDS_TO_FIND);
  assert.match(found[0] ?? '', TWO_LIVES);
});

test('[TEST-07] [SAFE-12] planted bug: the oracle detects a node that confirms a death too early', async () => {
  const found = await violations({ runtimeOf: confirmsTooEarly });
  assert.ok(found.length > 0, 'no seed found it');
  assert.match(found[0] ?? '', TWO_LIVES);
});

test('[SAFE-15] [FENCE-13] the same bug does no harm while the API server decides who may end a pod', async () => {
  for (let seed = 1; seed <= SEEDS_TO_FIND; seed++) {
    const run = runPartitionScenario({ seed, podEviction: forceDelete });
    // Refused evictions never become graceful ones, so the Deployment's old pod is never given up: liveness is lost, safety is not.
    await assert.rejects(
      run,
      (error: unknown) => !(error instanceof SimulationFailure) && /is given up/.test(String(error)),
    );
  }
});

test('the same seed gives the same trace in two processes, another seed another one', () => {
  const trace = (network: string, seed: number): string => {
    const main = path.join(import.meta.dirname, 'trace-main.ts');
    const { stdout, stderr, status } = spawnSync(process.execPath, [main, network, String(seed)], { encoding: 'utf8' });
    assert.equal(status, 0, stderr);
    return stdout.trim();
  };
  for (const network of ['good', 'lossy']) {
    const first = trace(network, 7);
    assert.match(first, /^[0-9a-f]{16}$/);
    assert.equal(trace(network, 7), first, `${network} network`);
    assert.notEqual(trace(network, 8), first, `${network} network`);
  }
});
