import assert from 'node:assert/strict';
import { once } from 'node:events';
import { connect as connectTcp } from 'node:net';
import { after, afterEach, before, describe, test } from 'node:test';
import { createSystemClock, nextTurn } from '@holdfast/platform';
import { AbusedApi, type RawConnection, statusOf, unharmed } from '../support/abused-api.ts';
import { waitFor } from '../support/wait.ts';

const MB = 1024 * 1024;
const LIMIT_MS = 3_000;
const CONFIG_MAPS = '/api/v1/namespaces/default/configmaps';
const clock = createSystemClock();

/** Sends a text byte by byte until it is refused, and the connection is closed. */
async function trickle(connection: RawConnection, bytes: Iterable<string>): Promise<void> {
  for (const byte of bytes) {
    // Reads before more is sent: a write to a closed connection discards the unread response.
    await nextTurn();
    if (connection.ended || connection.socket.destroyed || connection.text !== '') break;
    connection.socket.write(byte);
    await clock.sleep(50);
  }
  await connection.closed();
}

function* endless(start: string): Generator<string> {
  yield start;
  for (;;) yield 'x';
}

describe('slow clients', { concurrency: true }, () => {
  let api: AbusedApi;
  before(async () => {
    const limits = { receiveTimeoutMs: LIMIT_MS, idleTimeoutMs: LIMIT_MS, handshakeTimeoutMs: LIMIT_MS };
    api = await AbusedApi.start({ ...limits, writeStallMs: LIMIT_MS });
  });
  after(() => api[Symbol.asyncDispose]());

  test('headers without an end are cut off with a Status', async () => {
    await unharmed(api, async () => {
      const slow = await api.connect();
      await trickle(slow, endless('GET /version HTTP/1.1\r\nX-Slow: '));
      assert.equal(statusOf(slow).code, 408);
    });
  });

  const head = `POST ${CONFIG_MAPS} HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer admin\r\n`;
  for (const [how, start] of [
    ['with a length', `${head}Content-Length: 100000\r\n\r\n{"`],
    ['in chunks', `${head}Transfer-Encoding: chunked\r\n\r\n10000\r\n{"`],
  ] as const) {
    test(`a body ${how} that arrives byte by byte is cut off with a Status`, async () => {
      await unharmed(api, async () => {
        const slow = await api.connect();
        await trickle(slow, endless(start));
        assert.equal(statusOf(slow).code, 408);
      });
    });
  }

  test('a body over HTTP/2 that arrives byte by byte is cut off with a Status, and its session continues', async () => {
    await unharmed(api, async () => {
      const session = await api.session();
      const headers = { authorization: 'Bearer admin', 'content-type': 'application/json' };
      const stream = session.request({ ':method': 'POST', ':path': CONFIG_MAPS, ...headers });
      stream.on('error', () => {});
      let text = '';
      stream.setEncoding('utf8').on('data', (chunk: string) => (text += chunk));
      const answered = once(stream, 'response');
      stream.write('{"');
      while (!stream.destroyed && text === '') {
        stream.write('x');
        await clock.sleep(50);
      }
      assert.equal((await answered)[0][':status'], 408);
      await waitFor('the whole answer is there', () => text.endsWith('}'));
      assert.equal(statusOf({ text }).code, 408);
      const next = session.request({ ':path': '/version' });
      assert.equal((await once(next, 'response'))[0][':status'], 200);
      next.close();
    });
  });

  test('thousands of connections without a request are closed, with either negotiated protocol', async () => {
    await unharmed(api, async () => {
      const before = await api.memory();
      const silent: RawConnection[] = [];
      // Few at once: a slow machine must complete their handshakes before the limit.
      for (let i = 0; i < 2_000; i += 10) {
        const protocol = i % 20 === 0 ? 'h2' : 'http/1.1';
        silent.push(...(await Promise.all(Array.from({ length: 10 }, () => api.connect(protocol)))));
      }
      const each = ((await api.memory()) - before) / silent.length;
      assert.ok(each < 0.1 * MB, `a silent connection costs ${each} bytes`);
      await waitFor('every silent connection is closed', () => silent.every(({ ended }) => ended), 60_000);
    });
  });

  test('an HTTP/2 session that only sends pings is idle', async () => {
    await unharmed(api, async () => {
      const session = await api.session();
      while (!session.closed && !session.destroyed) {
        session.ping(() => {});
        await clock.sleep(100);
      }
    });
  });

  test('a handshake without an end is closed', async () => {
    await unharmed(api, async () => {
      const silent = connectTcp(api.port, '127.0.0.1');
      silent.on('error', () => {});
      const half = connectTcp(api.port, '127.0.0.1');
      half.on('error', () => {});
      // The first bytes of a ClientHello of 508 bytes.
      half.write(Buffer.from('1603010200010001fc0303', 'hex'));
      await waitFor('both are closed', () => silent.destroyed && half.destroyed);
    });
  });
});

/** What stays while nobody reads: two measurements in a row agree, so that no piece is on its way between threads. */
async function memoryAtRest(api: AbusedApi): Promise<number> {
  let last = await api.memory();
  return waitFor('the memory of the server rests', async () => {
    const now = await api.memory();
    const isAtRest = Math.abs(now - last) < 4 * MB;
    last = now;
    return isAtRest && now;
  });
}

describe('clients that do not read', () => {
  afterEach(() => api.disconnectAll());
  let api: AbusedApi;
  before(async () => {
    api = await AbusedApi.start({ writeStallMs: LIMIT_MS });
    const data = { payload: 'x'.repeat(500_000) };
    for (let i = 0; i < 40; i += 1) {
      const created = await api.call('POST', CONFIG_MAPS, JSON.stringify({ metadata: { name: `big-${i}` }, data }));
      assert.equal(created.status, 201);
    }
    // The first list encodes every object once.
    assert.equal((await api.call('GET', CONFIG_MAPS)).status, 200);
  });
  after(() => api[Symbol.asyncDispose]());

  const GET = `GET ${CONFIG_MAPS} HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer admin\r\n\r\n`;

  test('100 unread lists of 20 MB cost little and are cut off', async () => {
    await unharmed(api, async () => {
      const before = await api.memory();
      const readers = await Promise.all(Array.from({ length: 50 }, () => api.connect()));
      for (const { socket } of readers) socket.pause().write(GET);
      const session = await api.session({ settings: { initialWindowSize: 0 } });
      const streams = Array.from({ length: 50 }, () =>
        session.request({ ':path': CONFIG_MAPS, authorization: 'Bearer admin' }).on('error', () => {}),
      );
      const closed = streams.map((stream) => once(stream, 'close'));
      await Promise.all(streams.map((stream) => once(stream, 'response')));
      const held = (await memoryAtRest(api)) - before;
      assert.ok(held < 100 * MB, `${held} bytes are held for lists that nobody reads`);
      await Promise.all(closed);
      await waitFor('every connection was cut off', async () => (await api.connections()) < OTHERS, 60_000);
    });
  });

  test('600 unread logs hold a bounded amount of memory, which is released', async (t) => {
    await unharmed(api, async () => {
      const spec = { nodeName: 'n', containers: [{ name: 'c', image: 'i' }] };
      const pod = JSON.stringify({ metadata: { name: 'talker' }, spec });
      assert.equal((await api.call('POST', '/api/v1/namespaces/default/pods', pod)).status, 201);
      const path = '/api/v1/namespaces/default/pods/talker/log?follow=true';
      const before = await api.memory();
      const readers: RawConnection[] = [];
      while (readers.length < 300)
        readers.push(...(await Promise.all(Array.from({ length: 10 }, () => api.connect()))));
      for (const { socket } of readers) socket.pause().write(GET.replace(CONFIG_MAPS, path));
      const sessions = await Promise.all(
        Array.from({ length: 3 }, () => api.session({ settings: { initialWindowSize: 0 } })),
      );
      const streams = sessions.flatMap((session) =>
        Array.from({ length: 100 }, () => session.request({ ':path': path, authorization: 'Bearer admin' })),
      );
      for (const stream of streams) stream.on('error', () => {});
      const closed = streams.map((stream) => once(stream, 'close'));
      await Promise.all(streams.map((stream) => once(stream, 'response')));
      await waitFor('every log has begun', () => readers.every(({ socket }) => socket.bytesRead > TLS_HELLO_BYTES));
      await answersOf(api);
      const held = (await api.memory()) - before;
      t.diagnostic(`${held} bytes are held`);
      assert.ok(held < LOGS_BYTES_MAX, `${held} bytes are held for logs that nobody reads`);
      const began = clock.monotonic();
      const step = (what: string): void => t.diagnostic(`${what} after ${Math.round(clock.monotonic() - began)} ms`);
      await Promise.all(closed);
      step('streams are closed');
      await waitFor(
        'every connection was cut off',
        async () => (await api.connections()) < OTHERS + sessions.length,
        // The system takes some megabytes for each connection before one stalls.
        150_000,
      );
      step('connections are closed');
      for (const session of sessions) session.destroy();
      await api.givesBack(before, 50 * MB);
      step('the memory is given back');
    });
  });

  test('a watcher that never reads during thousands of events is cut off; its memory is released', async () => {
    await unharmed(api, async () => {
      const before = await api.memory();
      const watchers = await Promise.all(Array.from({ length: 20 }, () => api.connect()));
      for (const { socket } of watchers) socket.pause().write(GET.replace(CONFIG_MAPS, `${CONFIG_MAPS}?watch=1`));
      await waitFor('the watches are open', async () => (await watchersOf(api)) === watchers.length);
      const payload = 'y'.repeat(10_000);
      for (let i = 0; i < 2_000; i += 1) {
        const body = JSON.stringify({ data: { payload: `${i}${payload}` } });
        const type = { 'content-type': 'application/merge-patch+json' };
        assert.equal((await api.call('PATCH', `${CONFIG_MAPS}/big-0`, body, type)).status, 200);
      }
      await waitFor('the server holds no watch any more', async () => (await watchersOf(api)) === 0, 60_000);
      await api.givesBack(before, 150 * MB);
    });
  });
});

/**
 * The memory limit of 600 unread logs: half of what they held without a limit (535 MB). The server's limit counts data
 * in flight, and a chunk may exist as received, as queued for encryption and encrypted.
 */
const LOGS_BYTES_MAX = 256 * MB;

/** A response of many small chunks is complete beside unread ones. */
async function answersOf(api: AbusedApi): Promise<void> {
  const { text } = await api.call('GET', '/metrics');
  assert.match(text, /^apiserver_current_inflight_requests/m);
  assert.equal((await api.call('GET', '/version')).status, 200, 'the connection is free for the next request');
}

/** Bytes that a connection has read before its first response. */
const TLS_HELLO_BYTES = 4_096;

/** Connections of the test itself: the bystander's and the session whose streams were cut off. */
const OTHERS = 5;

async function watchersOf(api: AbusedApi): Promise<number> {
  const { text } = await api.call('GET', '/metrics');
  return Number(/^apiserver_registered_watchers\{resource="configmaps"\} (\d+)$/m.exec(text)?.[1] ?? -1);
}
