import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Moulds } from './moulds.ts';

const pod = (name: string, { owner = 'u1', phase = '{"phase":"Running"}' } = {}): string =>
  `{"kind":"Pod","apiVersion":"v1","metadata":{"name":"${name}","namespace":"a","ownerReferences":[{"kind":"ReplicaSet","name":"s","uid":"${owner}"}],"uid":"uid-${name}"},"spec":{"containers":[{"name":"c"}]},"status":${phase}}`;

test('two of a hundred pods of one owner are parsed in full', () => {
  const moulds = new Moulds();
  const values = Array.from({ length: 100 }, (_, i) => moulds.parse(pod(`p-${i}`)));
  assert.deepEqual(moulds.counts, { parsed: 2, moulded: 98 });
  for (const [i, value] of values.entries()) assert.deepEqual(value, JSON.parse(pod(`p-${i}`)));
  assert.equal(Object.getOwnPropertyDescriptor(values[98], 'spec')?.value, Reflect.get(values[99] ?? {}, 'spec'));
});

test('alternating pods of two structures have one mould each', () => {
  const moulds = new Moulds();
  for (let i = 0; i < 50; i++) moulds.parse(pod(`p-${i}`, i % 2 === 0 ? {} : { phase: '{}' }));
  assert.deepEqual(moulds.counts, { parsed: 4, moulded: 46 });
});

test('objects without an owner, and those of owners whose objects never match, are parsed in full', () => {
  const moulds = new Moulds();
  moulds.parse('{"metadata":{"name":"a"}}');
  moulds.parse('{"metadata":{"name":"b"}}');
  for (let i = 0; i < 20; i++) moulds.parse(pod(`p-${i}`, { phase: `{"n":${i}}` }));
  assert.deepEqual(moulds.counts, { parsed: 22, moulded: 0 });
  // By now nothing is tried for this owner; others are.
  moulds.parse(pod('same', { phase: '{"n":19}' }));
  assert.equal(moulds.counts.moulded, 0);
  for (const name of ['x', 'y', 'z']) moulds.parse(pod(name, { owner: 'u2' }));
  assert.deepEqual(moulds.counts, { parsed: 25, moulded: 1 });
});

test('interleaved pods of many owners take a bounded number of moulds, and keep their own values', () => {
  const moulds = new Moulds();
  for (let i = 0; i < 900; i++) {
    const text = pod(`p-${i}`, { owner: `u-${i % 300}` });
    assert.deepEqual(moulds.parse(text), JSON.parse(text));
  }
});
