import { strict as assert } from 'node:assert';
import { test } from 'node:test';
import { publisherOptions } from './publisher-options.ts';

const config = { servers: ['nats://a'], user: undefined, tls: undefined };
const nameOf = (incarnation: string, epoch: number): string | undefined =>
  publisherOptions(config, { store: { lineage: () => ({ incarnation, epoch }) }, password: undefined }).incarnation;

test('the bus knows the stream of another store, and of another epoch, by a name that does not tell the incarnation', () => {
  const name = nameOf('secret-a', 1);
  assert.ok(name !== undefined && !name.includes('secret'));
  assert.equal(nameOf('secret-a', 1), name);
  assert.equal(new Set([name, nameOf('secret-b', 1), nameOf('secret-a', 2)]).size, 3);
});
