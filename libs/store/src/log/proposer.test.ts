import { strict as assert } from 'node:assert';
import { test } from 'node:test';
import { createIds, createSystemRandom } from '@holdfast/platform';
import { createVirtualClock } from '@holdfast/platform/testing';
import { create, pod } from '../contract/support.ts';
import {
  LOG_CHARACTERS_WAITING,
  LOG_RESEND_AFTER_MS,
  LOG_RESEND_REFUSED_MS,
  LOG_STALLED_AFTER_MS,
  LOG_TICK_MS,
} from '../limits.ts';
import { OutcomeUnknown, StoreUnavailable } from '../port.ts';
import { decodeEntry } from './entry.ts';
import { type Proposed, Proposer } from './proposer.ts';
import { StateMachine } from './state-machine.ts';

/** A proposer whose messages stay where the test puts them. */
function makeProposer() {
  const clock = createVirtualClock();
  const machine = new StateMachine();
  const sent: Proposed[] = [];
  let stalls = 0;
  const proposer = new Proposer({
    clock,
    ids: createIds(createSystemRandom()),
    limits: undefined,
    claim: () => machine.claim,
    publish: (message) => void sent.push(message),
    payloadMax: () => undefined,
    haltedBy: () => undefined,
    onStalled: () => void stalls++,
  });
  const store = (payload: Buffer): void => proposer.onApplied(machine.apply(machine.position + 1, payload));
  const storeAll = async (): Promise<void> => {
    await clock.advance(0);
    for (const { payload } of sent.splice(0)) store(payload);
    await clock.advance(0);
  };
  return { clock, machine, proposer, sent, storeAll, stalls: () => stalls };
}

const write = (name: string) => ({ id: name, room: 'ordinary' as const, operations: [create(pod(name))] });

test('a part of the log that was not seen leaves the outcome of what was under way unknown, and of nothing else', async () => {
  const { clock, machine, proposer, sent, storeAll } = makeProposer();
  const opened = proposer.barrier();
  await storeAll();
  await opened;
  const skipped = proposer.write(write('skipped'));
  await clock.advance(0);
  for (const { payload } of sent.splice(0)) machine.apply(machine.position + 1, payload);
  proposer.onSkipped();
  await assert.rejects(skipped, OutcomeUnknown);
  const later = proposer.write(write('later'));
  await storeAll();
  assert.equal((await later).outcome, 'committed');
  assert.equal(proposer.stalledForMs(), 0);
  assert.equal(machine.table.revision, 2);
});

test('the outcome of a write is unknown when what opens its session may come late', async () => {
  const { clock, machine, proposer, sent } = makeProposer();
  const written = proposer.write(write('late'));
  await clock.advance(0);
  const [opening, entry] = sent.splice(0).map(({ payload }) => payload);
  assert.ok(opening !== undefined && entry !== undefined, 'the session is opened by an entry of its own');
  proposer.onApplied(machine.apply(machine.position + 1, entry));
  for (const payload of [opening, entry]) proposer.onApplied(machine.apply(machine.position + 1, payload));
  assert.equal(machine.table.revision, 1, 'it is written');
  proposer.close(new StoreUnavailable('the process ends'));
  await assert.rejects(written, OutcomeUnknown);
});

test('a server that stores nothing for long is reported, again and again, until something comes back', async () => {
  const { clock, proposer, storeAll, stalls } = makeProposer();
  const first = proposer.barrier().catch(() => 'given up');
  await clock.advance(LOG_STALLED_AFTER_MS);
  assert.equal(stalls(), 0);
  await clock.advance(1_000);
  assert.ok(stalls() > 1);
  assert.equal(await first, 'given up');
  await storeAll();
  const before = stalls();
  await clock.advance(2 * LOG_STALLED_AFTER_MS);
  assert.equal(stalls(), before);
});

test('writes that wait are bounded by their text, and an answer makes room again', async () => {
  const { clock, proposer, sent, storeAll } = makeProposer();
  const large = (name: string) => {
    const value = 'x'.repeat(LOG_CHARACTERS_WAITING / 2);
    return { id: name, room: 'ordinary' as const, operations: [create(pod(name), value)] };
  };
  const first = proposer.write(large('first'));
  await assert.rejects(
    proposer.write({ ...large('second'), operations: [...large('a').operations, ...large('b').operations] }),
    {
      message: 'too many writes are waiting',
    },
  );
  await storeAll();
  assert.equal((await first).outcome, 'committed');
  const next = proposer.write(large('next'));
  await storeAll();
  assert.equal((await next).outcome, 'committed');
  assert.equal(sent.length, 0);
  await clock.advance(0);
});

test('what opens a session carries no write', async () => {
  const { clock, proposer, sent } = makeProposer();
  const written = proposer.write(write('x')).catch(() => 'closed');
  await clock.advance(0);
  const entries = sent.map(({ payload }) => decodeEntry(payload));
  assert.deepEqual(
    entries.map(({ command, writes }) => [command?.kind, writes.length]),
    [
      ['open', 0],
      [undefined, 1],
    ],
  );
  proposer.close(new StoreUnavailable('the test is over'));
  await written;
});

test('what the log refused while it had no leader is sent again sooner than what has no answer', async () => {
  const { clock, proposer, sent } = makeProposer();
  const waiting = proposer.barrier().catch(() => 'given up');
  await clock.advance(0);
  assert.equal(sent.length, 1);
  proposer.onRefused();
  await clock.advance(LOG_RESEND_REFUSED_MS + LOG_TICK_MS);
  assert.equal(sent.length, 2);
  await clock.advance(LOG_RESEND_REFUSED_MS + LOG_TICK_MS);
  assert.equal(sent.length, 2, 'nobody has refused this one');
  await clock.advance(LOG_RESEND_AFTER_MS);
  assert.equal(sent.length, 3);
  proposer.close(new StoreUnavailable('the test is over'));
  assert.equal(await waiting, 'given up');
});
