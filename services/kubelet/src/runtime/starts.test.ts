import { strict as assert } from 'node:assert';
import { test } from 'node:test';
import { Starts } from './starts.ts';

test('a second start of the same container joins the first, and one of another does not', async () => {
  const starts = new Starts();
  const first = Promise.withResolvers<void>();
  const begun: string[] = [];
  const start = (name: string, until: Promise<void>) => async () => {
    begun.push(name);
    await until;
  };
  const joined = [starts.run('a', start('a', first.promise)), starts.run('a', start('a again', first.promise))];
  await starts.run('b', start('b', Promise.resolve()));
  assert.deepEqual(begun, ['a', 'b']);
  assert.deepEqual([starts.has('a'), starts.has('b')], [true, false]);
  first.resolve();
  await Promise.all(joined);
  await starts.run('a', start('a later', Promise.resolve()));
  assert.deepEqual(begun, ['a', 'b', 'a later']);
});

test('who waits for a start goes on when it fails, and its callers learn why', async () => {
  const starts = new Starts();
  const first = Promise.withResolvers<void>();
  const started = starts.run('a', () => first.promise);
  const settled = starts.settled('a');
  first.reject(new Error('no such image'));
  await assert.rejects(started, /no such image/);
  await settled;
  assert.equal(starts.has('a'), false);
  await starts.settled('a');
});
