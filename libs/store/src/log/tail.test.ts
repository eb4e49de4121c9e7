import { strict as assert } from 'node:assert';
import { test } from 'node:test';
import { createIds, createSilentLog, createSystemRandom } from '@holdfast/platform';
import { createVirtualClock } from '@holdfast/platform/testing';
import { createInbox, type NatsConnection } from 'nats';
import { LOG_REQUEST_TIMEOUT_MS, LOG_VERIFY_TIMEOUT_MS } from '../limits.ts';
import { LogTail } from './tail.ts';

/** A server without a leader: what is asked there is never answered. */
// oxlint-disable-next-line typescript/no-unsafe-type-assertion -- the tail uses nothing else of it
const silent = { isClosed: () => false, subscribe: () => undefined } as unknown as NatsConnection;

test('while the log has no leader it is asked again and again, soon; a slow server gets its time now and then', async () => {
  const clock = createVirtualClock();
  const asked: number[] = [];
  const tail = new LogTail({
    clock,
    log: createSilentLog(),
    inboxPrefix: createInbox(createIds(createSystemRandom()).suffix(4)),
    stream: 'S',
    position: () => 0,
    verify: async (_connection, timeoutMs) => {
      asked.push(timeoutMs);
      await clock.sleep(timeoutMs);
      throw new Error('no answer');
    },
    onMessage: () => undefined,
    onGap: () => undefined,
  });
  void tail.establish(silent);
  await clock.advance(3 * LOG_REQUEST_TIMEOUT_MS);
  assert.deepEqual(asked.slice(0, 4), [
    LOG_VERIFY_TIMEOUT_MS,
    LOG_VERIFY_TIMEOUT_MS,
    LOG_VERIFY_TIMEOUT_MS,
    LOG_REQUEST_TIMEOUT_MS,
  ]);
  tail.abandon();
});
