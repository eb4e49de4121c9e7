import { strict as assert } from 'node:assert';
import { test } from 'node:test';
import { createSystemClock } from '@holdfast/platform';
import { LOG_WITNESS_VALID_MS } from '../limits.ts';
import { Witnesses } from './witnesses.ts';

test('I7: who is alone with what it made of the log is refuted; of two, both are; a majority goes on', () => {
  const clock = createSystemClock();
  const [alone, one, majority] = [new Witnesses(clock), new Witnesses(clock), new Witnesses(clock)];
  alone.add('b', { agrees: false, position: 5 });
  alone.add('c', { agrees: false, position: 5 });
  one.add('b', { agrees: false, position: 5 });
  majority.add('b', { agrees: false, position: 5 });
  majority.add('c', { agrees: true, position: 5 });
  assert.deepEqual(
    [alone, one, majority].map(({ verdict }) => verdict.isRefuted),
    [true, true, false],
  );
  assert.equal(majority.verdict.against, 1);
});

test('I7: a process that ended long ago has no say', () => {
  let now = 0;
  const witnesses = new Witnesses({ ...createSystemClock(), monotonic: () => now });
  witnesses.add('old', { agrees: false, position: 5 });
  now = LOG_WITNESS_VALID_MS + 1;
  assert.deepEqual(witnesses.verdict, { against: 0, isRefuted: false });
});

test('I7: a snapshot waits for another process that made the same of the log so far; where nobody else is, it does not', () => {
  let now = 0;
  const witnesses = new Witnesses({ ...createSystemClock(), monotonic: () => now });
  assert.equal(witnesses.confirms(9), true);
  witnesses.add('other', { agrees: true, position: 8 });
  assert.equal(witnesses.confirms(9), false);
  witnesses.add('other', { agrees: false, position: 9 });
  assert.equal(witnesses.confirms(9), false);
  witnesses.add('third', { agrees: true, position: 9 });
  assert.equal(witnesses.confirms(9), true);
  now = LOG_WITNESS_VALID_MS + 1;
  assert.equal(witnesses.confirms(20), true);
});
