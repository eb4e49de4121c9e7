import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createSilentLog } from '@holdfast/platform';
import { createVirtualClock } from '@holdfast/platform/testing';
import type { Kinds } from '../kinds/custom-kinds.ts';
import { AVAILABILITY_RETRY_FIRST_MS } from '../limits.ts';
import { createLocalRegistrations } from './local-registrations.ts';

test('the pause after a lost race is short again once a registration was written', async (t) => {
  const clock = createVirtualClock();
  const statuses = [409, 409, 201, 409, 201];
  const handle = async () => ({ status: statuses.shift() ?? 500, headers: {}, body: { kind: 'empty' } }) as const;
  const definition = {
    summary: { group: 'reef.example.com' },
    versions: new Map([['v1', { version: 'v1', custom: { served: true } }]]),
  };
  const kinds = { definitions: () => [definition] } as unknown as Kinds;
  const reader = { cached: () => undefined, list: () => [] };
  const registrations = createLocalRegistrations({ kinds, reader, handle, clock, log: createSilentLog() });
  t.after(() => registrations.stop());
  registrations.start();
  await clock.advance(0);
  await clock.advance(AVAILABILITY_RETRY_FIRST_MS);
  assert.equal(statuses.length, 3);
  await clock.advance(2 * AVAILABILITY_RETRY_FIRST_MS);
  assert.equal(statuses.length, 2, 'the second pause is twice as long');
  registrations.groupChanged('reef.example.com');
  await clock.advance(0);
  assert.equal(statuses.length, 1);
  await clock.advance(AVAILABILITY_RETRY_FIRST_MS);
  assert.equal(statuses.length, 0, 'the first pause is short again');
});
