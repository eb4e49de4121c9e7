import { strict as assert } from 'node:assert';
import { test } from 'node:test';
import { createVirtualClock } from '@holdfast/platform/testing';
import type { NatsConnection } from 'nats';
import { Publications } from './publications.ts';

const MESSAGE_MAX_BYTES = 1024 * 1024;

/** Servers that answer what the test says. */
function makePublications() {
  const clock = createVirtualClock();
  const sent: { readonly reply: string; readonly answer: (text: string, code?: number) => void }[] = [];
  const world = { position: 7, refused: 0, wentBack: [] as string[] };
  const connect = (): NatsConnection => {
    let callback: (error: Error | null, msg: object) => void = () => undefined;
    const connection = {
      info: { max_payload: MESSAGE_MAX_BYTES },
      isClosed: () => false,
      subscribe: (_subject: string, options: { readonly callback: typeof callback }) => {
        callback = options.callback;
      },
      publish: (_subject: string, payload: Buffer, { reply }: { readonly reply: string }) => {
        if (payload.length > MESSAGE_MAX_BYTES) throw new Error('MAX_PAYLOAD_EXCEEDED');
        sent.push({
          reply,
          answer: (text, code) =>
            callback(null, {
              subject: reply,
              string: () => text,
              ...(code === undefined ? {} : { headers: { code } }),
            }),
        });
      },
    };
    // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- nothing else of it is used
    return connection as unknown as NatsConnection;
  };
  let connection: NatsConnection | undefined = connect();
  const publications = new Publications({
    clock,
    inboxPrefix: '_INBOX_test',
    connection: () => connection,
    place: () => ({ stream: 'S', subject: 'log' }),
    position: () => world.position,
    onRefused: () => void (world.refused += 1),
    onWentBack: (reason) => void world.wentBack.push(reason),
  });
  publications.begin(connection);
  const send = (payload = Buffer.from('entry')) => {
    publications.send({ session: 's', number: 1, payload });
    return sent.at(-1);
  };
  const reconnect = (): void => {
    connection = connect();
    publications.begin(connection);
  };
  return { clock, publications, world, sent, send, reconnect, lose: () => void (connection = undefined) };
}

const stored = (seq: number, stream = 'S'): string => JSON.stringify({ stream, seq });

test('an acknowledged entry of this process tells what the log holds, and that the server stores', async () => {
  const { clock, publications, send } = makePublications();
  await clock.advance(3_000);
  assert.equal(publications.storedAgoMs, 3_000);
  send()?.answer(stored(9));
  assert.deepEqual([publications.storedUpTo, publications.storedAgoMs], [9, 0]);
  send()?.answer(stored(8));
  assert.equal(publications.storedUpTo, 9, 'an answer that comes late takes nothing back');
  publications.sawStored(12);
  assert.equal(publications.storedUpTo, 12);
});

for (const [why, answer] of [
  ['at a sequence that was applied before it was sent', stored(7)],
  ['in another stream', stored(9, 'T')],
] as const) {
  test(`an entry that was stored ${why} shows that the log went back`, () => {
    const { publications, world, send } = makePublications();
    send()?.answer(answer);
    assert.equal(world.wentBack.length, 1);
    assert.match(world.wentBack[0] ?? '', /although 7 was there/);
    assert.equal(publications.storedUpTo, 0);
  });
}

test('a refusal is kept until an entry is stored', () => {
  const { publications, world, send } = makePublications();
  send()?.answer('', 503);
  assert.deepEqual([publications.lastRefusal, world.refused], ['the log has no leader', 1]);
  send()?.answer(JSON.stringify({ error: { err_code: 10077, description: 'maximum messages exceeded' } }));
  assert.match(publications.lastRefusal ?? '', /maximum messages exceeded/);
  assert.equal(world.refused, 1, 'only a missing leader comes back soon');
  send()?.answer('not json');
  assert.notEqual(publications.lastRefusal, undefined);
  send()?.answer(stored(9));
  assert.equal(publications.lastRefusal, undefined);
});

test('answers to a connection that was replaced count no more', () => {
  const { publications, world, send, reconnect } = makePublications();
  const before = send();
  reconnect();
  before?.answer(stored(7));
  assert.deepEqual([publications.storedUpTo, world.wentBack], [0, []]);
  send()?.answer(stored(9));
  assert.equal(publications.storedUpTo, 9);
});

test('without a connection nothing is sent, and a payload may be as large as the last server took', () => {
  const { publications, sent, send, lose } = makePublications();
  const max = publications.payloadMax() ?? assert.fail('it is known');
  assert.ok(max < MESSAGE_MAX_BYTES, 'the entry is not all of a message');
  lose();
  send();
  assert.deepEqual([sent.length, publications.payloadMax()], [0, max]);
});

test('an entry that is larger than a message is not sent, and the others are', () => {
  const { publications, sent, send } = makePublications();
  send(Buffer.alloc(MESSAGE_MAX_BYTES + 1));
  assert.match(publications.lastRefusal ?? '', /larger than a message/);
  send()?.answer(stored(9));
  assert.deepEqual([sent.length, publications.lastRefusal], [1, undefined]);
});
