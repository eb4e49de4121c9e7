import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createStatusServer } from './status-server.ts';

test('serves what machines and people ask for, and nothing else', async (t) => {
  let ready = false;
  let compare = async () => ({
    nodes: { missing: [], redundant: [] },
    pods: { missing: [], redundant: [], onOtherNode: [] },
    assumed: ['a'],
  });
  const source = { metrics: () => 'scheduler_x 1\n', isReady: () => ready, compareCache: () => compare() };
  const server = createStatusServer('127.0.0.1:0', source);
  await server.start();
  t.after(() => server.stop());
  const get = async (path: string): Promise<readonly [number, string]> => {
    const response = await fetch(`http://127.0.0.1:${server.port}${path}`);
    return [response.status, await response.text()];
  };
  assert.deepEqual(await get('/metrics'), [200, 'scheduler_x 1\n']);
  assert.equal((await get('/healthz'))[0], 200);
  assert.equal((await get('/readyz'))[0], 503);
  ready = true;
  assert.equal((await get('/readyz'))[0], 200);
  assert.deepEqual(JSON.parse((await get('/debug/cache'))[1]).assumed, ['a']);
  compare = () => Promise.reject(new Error('nobody answers'));
  assert.deepEqual(await get('/debug/cache'), [503, 'the API could not be asked: nobody answers\n']);
  assert.equal((await get('/else'))[0], 404);
  assert.throws(() => createStatusServer('nowhere', source), /takes host:port, not "nowhere"/);
});
