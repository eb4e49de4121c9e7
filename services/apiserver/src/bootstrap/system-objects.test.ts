import { strict as assert } from 'node:assert';
import { test } from 'node:test';
import type { ApiHandler } from '@holdfast/client';
import { createSystemClock, OperatorError } from '@holdfast/platform';
import { addressRange } from '../allocation/ranges.ts';
import { SYSTEM_OBJECT_ATTEMPTS_MAX } from '../limits.ts';
import { ensureSystemObjects } from './system-objects.ts';

const REASON = 'the store cannot serve now: the end of a transaction failed: database or disk is full';

test('a wait for a store without writes fails with the answer of the API', async () => {
  let asked = 0;
  const handle: ApiHandler = async ({ method }) => {
    if (method === 'POST') asked++;
    const status = { kind: 'Status', code: 503, reason: 'ServiceUnavailable', message: REASON };
    return { status: 503, headers: {}, body: { kind: 'json', bytes: () => new Uint8Array(), value: () => status } };
  };
  const clock = { ...createSystemClock(), sleep: async () => {} };
  await assert.rejects(
    ensureSystemObjects(handle, clock, { addresses: addressRange('10.96.0.0/12') }),
    (error) => error instanceof OperatorError && error.message.endsWith(`the API answered 503: ${REASON}`),
  );
  assert.ok(asked >= SYSTEM_OBJECT_ATTEMPTS_MAX);
});
