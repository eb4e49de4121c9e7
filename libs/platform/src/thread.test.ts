import assert from 'node:assert/strict';
import { once } from 'node:events';
import { test } from 'node:test';
import { startThread } from './thread.ts';

const entry = (name: string): URL => new URL(`./testing/${name}`, import.meta.url);
const options = { resourceLimits: { maxYoungGenerationSizeMb: 4 } };

test('a thread runs TypeScript with its imports and reads its data', async () => {
  const worker = startThread(entry('echo-thread.ts'), { ...options, data: { hello: ['world'] } });
  const [message] = await once(worker, 'message');
  assert.deepEqual(message, { data: { hello: ['world'] }, described: 'outer: inner' });
  await worker.terminate();
});

test('a thread that cannot be loaded reports the error', async () => {
  const worker = startThread(entry('broken-thread.ts'), { ...options, data: undefined });
  const [error] = await once(worker, 'error');
  assert.match(String(error), /broken on purpose/);
});
