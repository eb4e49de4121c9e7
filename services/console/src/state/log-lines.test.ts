import assert from 'node:assert/strict';
import { test } from 'node:test';
import { LOG_LINES_MAX, LogBuffer } from './log-lines.ts';

test('a log keeps its newest lines, finds words in any case, and begins anew', () => {
  const log = new LogBuffer();
  log.take('One\ntw');
  log.take('o\n');
  assert.deepEqual(log.matching(''), ['One', 'two']);
  assert.deepEqual(log.matching('ONE'), ['One']);
  log.take('cut off');
  log.clear();
  log.take('three\n');
  assert.deepEqual(log.matching(''), ['three']);
  log.take(Array.from({ length: LOG_LINES_MAX }, (_, i) => `${i}\n`).join(''));
  assert.equal(log.matching('').length, LOG_LINES_MAX);
  assert.equal(log.matching('')[0], '0');
});
