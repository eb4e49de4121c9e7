import { strict as assert } from 'node:assert';
import { test } from 'node:test';
import { StatusError } from '@holdfast/machinery';
import { createWriteGate } from './write-gate.ts';

test('writes above the limit are 429 with Retry-After, reads always pass, and places are given back', async () => {
  const gate = createWriteGate(1);
  const held = Promise.withResolvers<void>();
  const first = gate.pass('create', () => held.promise);
  await assert.rejects(
    gate.pass('update', async () => {}),
    (error) => error instanceof StatusError && error.code === 429 && error.body.details?.retryAfterSeconds === 1,
  );
  assert.equal(await gate.pass('list', async () => 'read'), 'read');
  held.resolve();
  await first;
  assert.equal(await gate.pass('update', async () => 'written'), 'written');
  await assert.rejects(gate.pass('delete', () => Promise.reject(new Error('failed'))));
  assert.equal(gate.inFlight(), 0);
});

test('what is refused at once holds no place', async () => {
  const gate = createWriteGate(1);
  const refuse = (): never => {
    throw new Error('refused');
  };
  for (const verb of ['create', 'get']) assert.throws(() => gate.pass(verb, refuse), /refused/);
  assert.equal(gate.inFlight(), 0);
  assert.equal(await gate.pass('update', async () => 'written'), 'written');
});
