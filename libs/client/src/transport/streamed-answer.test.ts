import assert from 'node:assert/strict';
import { once } from 'node:events';
import type { IncomingMessage } from 'node:http';
import { Duplex } from 'node:stream';
import { test } from 'node:test';
import { createVirtualClock } from '@holdfast/platform/testing';
import { JOINED_DRAIN_MS } from '../limits.ts';
import { upgradedAnswer } from './streamed-answer.ts';

/** A client that takes nothing until the test says so, joined to a server that has sent some. */
function joined() {
  const clock = createVirtualClock();
  const taken: string[] = [];
  let isSlow = true;
  let goOn = (): void => {};
  const client = new Duplex({
    read: () => {},
    write: (chunk: Buffer, _encoding, done) => {
      taken.push(chunk.toString());
      if (isSlow) goOn = done;
      else done();
    },
  });
  const server = new Duplex({ allowHalfOpen: false, read: () => {}, write: (_chunk, _encoding, done) => done() });
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- nothing else of it is read
  const answer = { statusCode: 101, headers: {} } as IncomingMessage;
  const { upgrade } = upgradedAnswer(answer, { socket: server, head: Buffer.from('one'), clock }, String);
  upgrade?.(client, new Uint8Array());
  server.push('two');
  const take = (): void => {
    isSlow = false;
    goOn();
  };
  return { clock, client, server, taken, take };
}

async function ended(server: Duplex): Promise<void> {
  server.push('three');
  server.push(null);
  await once(server, 'close');
}

test('a client that is slower than its server gets all that the server sent before it ended', async () => {
  const { client, server, taken, take } = joined();
  await ended(server);
  assert.equal(client.destroyed, false);
  take();
  await once(client, 'close');
  assert.equal(taken.join(''), 'onetwothree');
  assert.equal(client.writableFinished, true);
});

test('a client that takes nothing is cut off some time after its server has ended', async () => {
  const { clock, client, server } = joined();
  await ended(server);
  await clock.advance(JOINED_DRAIN_MS - 1);
  assert.equal(client.destroyed, false);
  await clock.advance(1);
  assert.equal(client.destroyed, true);
});

test('a server that breaks, and a client that leaves, end the other side at once', async () => {
  const broken = joined();
  broken.server.destroy(new Error('reset'));
  await once(broken.client, 'close');
  const left = joined();
  left.client.destroy();
  await once(left.server, 'close');
});
