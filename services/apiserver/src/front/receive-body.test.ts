import assert from 'node:assert/strict';
import { PassThrough } from 'node:stream';
import { type TestContext, test } from 'node:test';
import { StatusError } from '@holdfast/machinery/status';
import { nextTurn } from '@holdfast/platform';
import { createSystemClock } from '@holdfast/platform/clock';
import { type BodyReceiver, createBodyReceiver } from './receive-body.ts';

interface Sender {
  readonly send: (bytes: number) => Promise<void>;
  readonly end: () => void;
  /** Bytes of the body, or the code it was refused with. */
  readonly outcome: Promise<number>;
}

function sender(t: TestContext, bodies: BodyReceiver): Sender {
  const payload = new PassThrough();
  t.after(() => payload.destroy());
  const outcome = bodies.receive(payload, undefined).then(
    (body) => body.length,
    (error) => (error instanceof StatusError ? error.body.code : 0),
  );
  const send = async (bytes: number): Promise<void> => {
    payload.write(Buffer.alloc(bytes));
    await nextTurn();
  };
  return { send, end: () => payload.end(), outcome };
}

const receiver = (): BodyReceiver =>
  createBodyReceiver(createSystemClock(), {
    bodyBytesMax: 100,
    bodyBytesInFlightMax: 250,
    receiveTimeoutMs: 60_000,
  });

test('the largest incomplete body makes room for new requests', async (t) => {
  const bodies = receiver();
  const senders = [80, 90, 80].map((bytes) => ({ bytes, ...sender(t, bodies) }));
  for (const { bytes, send } of senders) await send(bytes);
  const small = sender(t, bodies);
  await small.send(10);
  assert.equal(bodies.held(), 170);
  small.end();
  assert.deepEqual([await small.outcome, await senders[1]?.outcome], [10, 429]);
  const large = sender(t, bodies);
  await large.send(85);
  assert.equal(await large.outcome, 429, 'who is the largest makes room for the others');
  assert.equal(bodies.held(), 170);
  for (const { end } of senders) end();
  assert.deepEqual([await senders[0]?.outcome, await senders[2]?.outcome], [80, 80]);
});

test('a complete body is held until it is answered', async (t) => {
  const bodies = receiver();
  for (const bytes of [100, 100]) {
    const complete = sender(t, bodies);
    await complete.send(bytes);
    complete.end();
    assert.equal(await complete.outcome, bytes);
  }
  const late = sender(t, bodies);
  await late.send(60);
  assert.deepEqual([await late.outcome, bodies.held()], [429, 200]);
});
