import assert from 'node:assert/strict';
import { test } from 'node:test';
import { type FaultKind, sentenceOf, stepOf, targetsOf } from './play.ts';

const ISOLATE: FaultKind = { do: 'isolate', targets: 'node', says: '{target} loses its network' };
const LOSSY: FaultKind = { do: 'lossy-link', targets: 'process', says: '{value} of {target} is lost', value: 'loss' };
const OUTAGE: FaultKind = { do: 'bus-outage', targets: 'none', says: 'the bus is gone' };
const ALL = [
  { name: 'node-1', kind: 'node' },
  { name: 'scheduler', kind: 'master' },
] as const;

test('a step has the fields of a scenario file, and only those that its kind has', () => {
  const given = { do: '', target: 'node-1', lasts: '30s', value: '0.3' };
  assert.deepEqual(stepOf(ISOLATE, given), { do: 'isolate', target: 'node-1', for: '30s' });
  assert.deepEqual(stepOf(LOSSY, { ...given, lasts: '' }), { do: 'lossy-link', target: 'node-1', loss: 0.3 });
  assert.deepEqual(stepOf(OUTAGE, given), { do: 'bus-outage', for: '30s' });
});

test('a fault is offered for the components that it can strike, in words', () => {
  assert.deepEqual(
    [ISOLATE, LOSSY, OUTAGE].map((kind) => targetsOf(kind, ALL).map(({ name }) => name)),
    [['node-1'], ['node-1', 'scheduler'], []],
  );
  assert.equal(sentenceOf(LOSSY, 'node-1'), 'a share of node-1 is lost');
});
