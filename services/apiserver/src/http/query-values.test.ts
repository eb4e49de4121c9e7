import { strict as assert } from 'node:assert';
import { test } from 'node:test';
import { revisionProblem } from './query-values.ts';

test('a revision is a 64-bit number with any number of leading zeros', () => {
  for (const text of ['0', '7', '9'.repeat(19), '18446744073709551615', '0'.repeat(40), `${'0'.repeat(30)}7`]) {
    assert.equal(revisionProblem(text), undefined, text);
  }
  for (const text of ['18446744073709551616', `1${'0'.repeat(20)}`, `0${'9'.repeat(21)}`]) {
    assert.equal(revisionProblem(text), `strconv.ParseUint: parsing "${text}": value out of range`);
  }
  for (const text of ['', '-1', '+1', '1.0', ' 1']) {
    assert.equal(revisionProblem(text), `strconv.ParseUint: parsing "${text}": invalid syntax`);
  }
});

test('a body of digits costs no more than reading it', () => {
  const before = process.cpuUsage();
  assert.match(revisionProblem('9'.repeat(20_000_000)) ?? '', /: value out of range$/);
  const { user } = process.cpuUsage(before);
  assert.ok(user < 2_000_000, `${user / 1_000} ms`);
});
