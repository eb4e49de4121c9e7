import assert from 'node:assert/strict';
import { test } from 'node:test';
import { PODS } from '@holdfast/api';
import { StatusError } from '@holdfast/machinery';
import { createVirtualClock, type VirtualClock } from '@holdfast/platform/testing';
import { createApiClient } from './api-client.ts';
import type { ApiClient } from './port.ts';
import { createDirectTransport } from './transport/direct.ts';
import { type ApiResponse, TransportError } from './transport/port.ts';

const POD = { namespace: 'ns', name: 'x' };
const FOUND: ApiResponse = {
  status: 200,
  headers: {},
  body: { kind: 'json', bytes: () => new Uint8Array(), value: () => ({ metadata: { name: 'x' } }) },
};

const turnedAway = (headers: Record<string, string>): ApiResponse => ({
  status: 429,
  headers,
  body: { kind: 'text', contentType: 'text/plain', text: 'Too many requests, please try again later.\n' },
});

interface Rig {
  readonly clock: VirtualClock;
  readonly client: ApiClient;
  /** The arrival time of each request. */
  readonly came: number[];
}

function rig(answer: (request: number) => ApiResponse): Rig {
  const clock = createVirtualClock();
  const came: number[] = [];
  const transport = createDirectTransport(async () => {
    came.push(clock.monotonic());
    return answer(came.length);
  });
  return { clock, came, client: createApiClient({ transport, userAgent: 'test/1', clock }) };
}

const isTurnedAway = (error: unknown): boolean => error instanceof StatusError && error.code === 429;

test('a client with a Retry-After header retries after that time', async () => {
  const { clock, client, came } = rig((request) => (request < 3 ? turnedAway({ 'retry-after': '2' }) : FOUND));
  const got = client.get(PODS, POD);
  await clock.advance(4_000);
  assert.equal((await got).metadata.name, 'x');
  assert.deepEqual(came, [0, 2_000, 4_000]);
});

test('after ten retries, or the timeout of one request, the caller gets the error', async () => {
  for (const { seconds, requests } of [
    { seconds: 1, requests: 11 },
    { seconds: 8, requests: 4 },
    { seconds: 31, requests: 1 },
  ]) {
    const { clock, client, came } = rig(() => turnedAway({ 'retry-after': String(seconds) }));
    const refused = assert.rejects(client.delete(PODS, POD), isTurnedAway);
    await clock.advance(60_000);
    await refused;
    assert.equal(came.length, requests);
    assert.equal(clock.pendingTimers(), 0);
  }
});

test('without a readable time the caller gets the error at once', async () => {
  for (const headers of [{}, { 'retry-after': 'soon' }, { 'retry-after': '-1' }]) {
    const { client, came } = rig(() => turnedAway(headers));
    await assert.rejects(client.get(PODS, POD), isTurnedAway);
    assert.equal(came.length, 1);
  }
});

test('a signal ends the wait', async () => {
  const { clock, client, came } = rig(() => turnedAway({ 'retry-after': '5' }));
  const leaving = new AbortController();
  const listed = client.list(PODS, { signal: leaving.signal });
  await clock.advance(1_000);
  leaving.abort();
  await assert.rejects(listed, (error) => error instanceof TransportError && !error.possiblySent);
  assert.equal(came.length, 1);
  assert.equal(clock.pendingTimers(), 0);
});
