import { strict as assert } from 'node:assert';
import { test } from 'node:test';
import { StatusError } from '@holdfast/machinery';
import type { User } from '../authentication/identity.ts';
import { createWriteGate } from './write-gate.ts';

const USER: User = { name: 'eve', groups: [] };
const NODE: User = { name: 'system:node:a', groups: ['system:nodes'] };

test('writes above the limit are 429 with Retry-After, reads always pass, and places are given back', async () => {
  const gate = createWriteGate(1, 0);
  const held = Promise.withResolvers<void>();
  const first = gate.pass('create', USER, () => held.promise);
  await assert.rejects(
    gate.pass('update', USER, async () => {}),
    (error) => error instanceof StatusError && error.code === 429 && error.body.details?.retryAfterSeconds === 1,
  );
  assert.equal(await gate.pass('list', USER, async () => 'read'), 'read');
  held.resolve();
  await first;
  assert.equal(await gate.pass('update', USER, async () => 'written'), 'written');
  await assert.rejects(gate.pass('delete', USER, () => Promise.reject(new Error('failed'))));
  assert.equal(gate.inFlight(), 0);
});

test('a request that is refused at once takes no slot', async () => {
  const gate = createWriteGate(1, 0);
  const refuse = (): never => {
    throw new Error('refused');
  };
  for (const verb of ['create', 'get']) assert.throws(() => gate.pass(verb, USER, refuse), /refused/);
  assert.equal(gate.inFlight(), 0);
  assert.equal(await gate.pass('update', USER, async () => 'written'), 'written');
});

test('one user gets half of the slots, all users together leave some for the system', async () => {
  const gate = createWriteGate(10, 2);
  const held = Promise.withResolvers<void>();
  const passes = (user: User): Promise<boolean> =>
    Promise.race([gate.pass('create', user, () => held.promise).then(() => true), Promise.resolve(true)]).catch(
      () => false,
    );
  const passed = async (user: User, attempts: number): Promise<number> => {
    const before = gate.inFlight();
    for (let n = 0; n < attempts; n++) await passes(user);
    return gate.inFlight() - before;
  };
  assert.equal(await passed(USER, 10), 4);
  assert.equal(await passed({ name: 'other', groups: [] }, 10), 4);
  assert.equal(await passed({ name: 'third', groups: [] }, 10), 0);
  assert.equal(await passed(NODE, 10), 2);
  held.resolve();
});
