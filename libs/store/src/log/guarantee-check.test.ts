import { strict as assert } from 'node:assert';
import { test } from 'node:test';
import { createSilentLog } from '@holdfast/platform';
import { createVirtualClock } from '@holdfast/platform/testing';
import type { NatsConnection } from 'nats';
import { LOG_GUARANTEE_AGAIN_MS, LOG_GUARANTEE_INTERVAL_MS, LOG_GUARANTEE_VALID_MS } from '../limits.ts';
import { StoreUnavailable } from '../port.ts';
import { GuaranteeCheck, type GuaranteeOptions } from './guarantee-check.ts';
import { baseStreamConfig, encodeRecord, logNames, logStreamConfig } from './layout.ts';

const names = logNames();
const lineage = { incarnation: '0123456789', epoch: 1 };
const current = { lineage, stream: names.logStream(lineage), created: '2026-11-23T00:00:00Z' };
const MONITORS = ['a', 'b', 'c'];

/** Servers that answer as the test says: `down` have no monitoring address, `lax` do not sync. */
function makeCheck(more: Partial<GuaranteeOptions> = {}) {
  const clock = createVirtualClock();
  const world = { down: [''], lax: [''], checks: 0, stored: 0, record: current, isDumb: false };
  const state = { first_seq: 1, last_seq: 7, bytes: 1 };
  const connection = {
    info: { version: '2.15.1' },
    request: async (subject: string) => {
      if (world.isDumb) throw new Error('no answer');
      if (subject.includes('.MSG.GET.')) {
        const message = { seq: 1, data: encodeRecord(world.record).toString('base64') };
        return { string: () => JSON.stringify({ message }) };
      }
      const isBase = subject.endsWith(names.baseStream);
      const config = isBase ? baseStreamConfig(names, 3) : logStreamConfig(names, lineage, 3);
      return { string: () => JSON.stringify({ created: current.created, config, state }) };
    },
  };
  const replica = {
    // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- the check uses nothing else of it
    connection: connection as unknown as NatsConnection,
    names,
    current,
    sawStored: (sequence: number) => void (world.stored = sequence),
  };
  const options = { clock, log: createSilentLog(), monitors: MONITORS, ...more };
  const check = new GuaranteeCheck(replica, options, async (_clock, url) => {
    if (url === 'a') world.checks += 1;
    if (world.down.includes(url)) return { url, answer: undefined, failure: 'refused' };
    return { url, answer: { config: { sync_always: !world.lax.includes(url) } }, failure: undefined };
  });
  return { clock, check, world };
}

test('what the servers answered stays valid for a while: two that do not answer for a moment stop nothing', async () => {
  const { clock, check, world } = makeCheck();
  await check.run();
  assert.deepEqual(check.standing, { broken: [], cautions: [] });
  world.down = ['b', 'c'];
  await clock.advance(LOG_GUARANTEE_VALID_MS);
  await check.run();
  assert.deepEqual(check.standing, {
    broken: [],
    cautions: ['b does not answer: refused', 'c does not answer: refused'],
  });
  await clock.advance(1);
  await check.run();
  assert.match(check.standing.broken.join(), /seen on 1 of 3/);
});

test('a server that answers something else is believed at once, and when it is mended soon', async () => {
  const { clock, check, world } = makeCheck();
  await check.run();
  world.lax = ['b'];
  await clock.advance(LOG_GUARANTEE_INTERVAL_MS - 1);
  await check.runIfDue();
  assert.equal(world.checks, 1, 'it is not time');
  await clock.advance(1);
  await check.runIfDue();
  assert.match(check.standing.broken.join(), /at b is not "always"/);
  world.lax = [];
  await clock.advance(LOG_GUARANTEE_AGAIN_MS);
  await check.runIfDue();
  assert.deepEqual(check.standing.broken, []);
});

test('I8: before the first check has come through nothing counts as in force, and it is repeated', async () => {
  const { clock, check, world } = makeCheck({ startTimeoutMs: 10_000 });
  world.isDumb = true;
  const first = check.runFirst();
  await clock.advance(5_000);
  assert.deepEqual(check.standing.broken, ['nothing has been checked yet']);
  world.isDumb = false;
  await clock.advance(1_000);
  await first;
  assert.deepEqual(check.standing.broken, []);
});

test('I8: a start without a check is refused in time; where that is accepted, it is a caution', async () => {
  const refused = makeCheck({ startTimeoutMs: 10_000 });
  refused.world.isDumb = true;
  const first = refused.check.runFirst().catch((error: unknown) => error);
  await refused.clock.advance(11_000);
  assert.ok((await first) instanceof StoreUnavailable);
  const accepted = makeCheck({ allowUnsafe: true });
  accepted.world.isDumb = true;
  await accepted.check.runFirst();
  assert.deepEqual(accepted.check.standing, { broken: [], cautions: ['nothing has been checked yet'] });
});

test('I5: a record that names another log by now ends the service', async () => {
  const { check, world } = makeCheck();
  world.record = { ...current, stream: 'HOLDFAST_LOG_89abcdef_1' };
  await check.run();
  assert.match(check.standing.broken.join(), /names another log \(stream HOLDFAST_LOG_89abcdef_1\)/);
});

test('a check tells the replica how far the log has come', async () => {
  const { check, world } = makeCheck();
  await check.run();
  assert.equal(world.stored, 7);
});
