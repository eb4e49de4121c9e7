import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { AbusedApi } from '../support/abused-api.ts';
import { CORPUS } from './corpus.ts';
import { Attacker } from './support/attacker.ts';
import { play, playable, prepare } from './support/play.ts';

const HEAP_MB = 512;
/** Gross: what others wait for is measured by `bench/bystanders.ts`. A server that works on one request after the other takes minutes. */
const LONGEST_WAIT_MS = 10_000;
const HELD_BYTES_MAX = 192 * 1024 * 1024;

let api: AbusedApi;
let attacker: Attacker;
let heldBefore: number;
before(async () => {
  api = await AbusedApi.start({}, HEAP_MB);
  await prepare(api);
  attacker = await Attacker.start(api);
  heldBefore = await api.memory();
});
after(async () => {
  // Absent when `before` has failed.
  await (attacker as Attacker | undefined)?.[Symbol.asyncDispose]();
  await api[Symbol.asyncDispose]();
});

for (const hostile of playable(CORPUS)) {
  test(`${hostile.name}: other requests are served meanwhile, and the server stays ready`, async (t) => {
    const { statuses, longestGetMs, longestHeartbeatMs, served } = await play(api, attacker, hostile);
    t.diagnostic(`GET ${longestGetMs.toFixed(0)} ms, heartbeat ${longestHeartbeatMs.toFixed(0)} ms, ${statuses[0]}`);
    assert.ok(served >= 2);
    assert.ok(Math.max(longestGetMs, longestHeartbeatMs) < LONGEST_WAIT_MS);
    assert.equal((await api.call('GET', '/readyz')).status, 200);
  });
}

test('afterwards the server holds no more than the stored objects', async () => {
  for (const path of ['configmaps', 'pods', 'services', 'secrets', 'events']) {
    await api.call('DELETE', `/api/v1/namespaces/default/${path}`);
  }
  await api.givesBack(heldBefore, HELD_BYTES_MAX);
});
