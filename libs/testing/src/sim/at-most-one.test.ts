import assert from 'node:assert/strict';
import { test } from 'node:test';
import { AtMostOneOracle, type ProcessFact } from './at-most-one.ts';
import { SimulationKernel } from './kernel.ts';

const fact = (kind: ProcessFact['kind'], podUid: string, node: string, container = 'c'): ProcessFact => ({
  kind,
  node,
  namespace: 'default',
  podName: 'web-0',
  podUid,
  container,
});

function oracle(): AtMostOneOracle {
  return new AtMostOneOracle(new SimulationKernel(1), (_, podName) => podName.startsWith('web-'));
}

test('[TEST-07] two uids of one identity alive at once are a violation that names both', () => {
  const checked = oracle();
  checked.observe(fact('started', 'uid-1', 'a'));
  assert.equal(checked.check(), undefined);
  checked.observe(fact('started', 'uid-2', 'b'));
  assert.match(checked.check() ?? '', /default\/web-0 runs 2 times: uid uid-1 on a .* uid uid-2 on b/);
  const onOneNode = oracle();
  for (const uid of ['uid-1', 'uid-2']) onOneNode.observe(fact('started', uid, 'a'));
  assert.match(onOneNode.check() ?? '', /runs 2 times: uid uid-1 on a .* uid uid-2 on a/);
});

test('[TEST-07] consecutive lives are no violation, and containers of one pod count as one', () => {
  const checked = oracle();
  checked.observe(fact('started', 'uid-1', 'a', 'c1'));
  checked.observe(fact('started', 'uid-1', 'a', 'c2'));
  checked.observe(fact('ended', 'uid-1', 'a', 'c1'));
  assert.deepEqual(checked.nodesOf('default', 'web-0'), ['a']);
  checked.observe(fact('ended', 'uid-1', 'a', 'c2'));
  checked.observe(fact('started', 'uid-2', 'b'));
  assert.equal(checked.check(), undefined);
});

test('[TEST-07] the same uid on two nodes is a violation too', () => {
  const checked = oracle();
  checked.observe(fact('started', 'uid-1', 'a'));
  checked.observe(fact('started', 'uid-1', 'b'));
  assert.match(checked.check() ?? '', /runs 2 times/);
});

test('[TEST-07] [SAFE-21] a life that a user abandoned still runs but leaves its name to one other life', () => {
  const checked = oracle();
  checked.observe(fact('started', 'uid-1', 'a'));
  checked.release('default', 'web-0');
  checked.observe(fact('started', 'uid-2', 'b'));
  assert.equal(checked.check(), undefined);
  assert.deepEqual(checked.nodesOf('default', 'web-0'), ['a', 'b']);
  checked.observe(fact('started', 'uid-3', 'c'));
  assert.match(checked.check() ?? '', /runs 2 times: uid uid-2 on b .* uid uid-3 on c/);
});

test('pods without an identity may run any number of times', () => {
  const checked = oracle();
  checked.observe({ ...fact('started', 'uid-1', 'a'), podName: 'deploy-x' });
  checked.observe({ ...fact('started', 'uid-2', 'b'), podName: 'deploy-x' });
  assert.equal(checked.check(), undefined);
  assert.equal(checked.startCount, 0);
});
