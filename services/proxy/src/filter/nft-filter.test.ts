import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createSeededRandom } from '@holdfast/platform';
import { createVirtualClock } from '@holdfast/platform/testing';
import { createNftFilter, type NftRun } from './nft-filter.ts';
import { runProgram } from './run-program.ts';

test('nft has large pages for what it reads from the kernel, and a change of nothing runs no nft', async () => {
  const runs: NftRun[] = [];
  const run = async (nft: NftRun): Promise<string> => {
    runs.push(nft);
    return '';
  };
  const filter = createNftFilter({ clock: createVirtualClock(), random: createSeededRandom(1, 'nft'), run });
  await filter.apply([]);
  assert.equal(runs.length, 0);
  await filter.remove();
  assert.deepEqual(
    runs.map(({ args, variables }) => [args, Object.keys(variables)]),
    [[['-f', '-'], ['GLIBC_TUNABLES']]],
  );
});

test('a program has the environment of this process beside its own variables', async () => {
  const options = { input: '', clock: createVirtualClock(), timeoutMs: 10_000, variables: { HOLDFAST_TEST: 'large' } };
  const output = await runProgram(['sh', '-c', 'echo "$HOLDFAST_TEST ${PATH:+path}"'], options);
  assert.equal(output, 'large path\n');
});
