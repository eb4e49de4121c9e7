import assert from 'node:assert/strict';
import { once } from 'node:events';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { Duplex } from 'node:stream';
import { test } from 'node:test';
import { eventually } from '@holdfast/platform/contract';
import { createVirtualClock } from '@holdfast/platform/testing';
import { type FakeServer, type Route, startFakeServer, startTestConsole } from './testing.ts';

const WATCH = '/ui/cluster/api/v1/pods?watch=1';
const POD = '/ui/cluster/api/v1/namespaces/default/pods/web';
const EXEC = '/ui/stream/api/v1/namespaces/default/pods/web/exec?command=sh';
/** More than the API takes in one request. */
const TOO_LARGE = 3 * 1024 * 1024 + 1;
const ENDLESS_BYTES = 64 * 1024 * 1024;

const OK: Route = (_incoming, outgoing) => void outgoing.writeHead(200).end('{}');

/** Answers that the test ends itself. */
function held(): { readonly route: Route; readonly answers: ServerResponse[] } {
  const answers: ServerResponse[] = [];
  const route: Route = (_incoming, outgoing) => {
    outgoing.writeHead(200, { 'content-type': 'application/json' });
    outgoing.flushHeaders();
    answers.push(outgoing);
  };
  return { route, answers };
}

async function setUp(servers: readonly FakeServer[]) {
  const clock = createVirtualClock();
  const console = await startTestConsole(servers, { clock });
  return { clock, console, page: await console.signIn() };
}

const nextText = async (incoming: IncomingMessage | Duplex): Promise<string> =>
  String((await once(incoming, 'data'))[0]);

test('the address leads to the page, which has a strict policy and is compressed', async () => {
  await using server = await startFakeServer(OK);
  const { console } = await setUp([server]);
  await using _ = console;
  assert.equal((await console.call('GET', '/')).headers['location'], '/ui/');
  const page = await console.call('GET', '/ui/', { 'accept-encoding': 'gzip' });
  assert.deepEqual([page.status, page.headers['content-encoding']], [200, 'gzip']);
  assert.match(String(page.headers['content-security-policy']), /default-src 'none'; script-src 'self';/);
  for (const path of ['/abc', '/api/v1/pods', '/readyz']) assert.equal((await console.call('GET', path)).status, 404);
});

test('a request carries the token of its person and what a page may say, nothing else', async () => {
  await using server = await startFakeServer(OK);
  const { console, page } = await setUp([server]);
  await using _ = console;
  assert.equal((await console.call('GET', POD, { ...page, 'impersonate-user': 'root', 'x-other': 'a' })).status, 200);
  const { connection: _own, host: _host, ...headers } = server.asked.at(-1)?.headers ?? {};
  assert.deepEqual(headers, {
    authorization: 'Bearer good',
    'user-agent': 'holdfast-console',
    'x-forwarded-for': '127.0.0.1',
  });
  const before = server.asked.length;
  assert.equal((await console.call('DELETE', POD, { ...page, origin: 'https://127.0.0.1:1' })).status, 403);
  assert.equal((await console.call('DELETE', POD, { ...page, 'sec-fetch-site': 'cross-site' })).status, 403);
  assert.equal((await console.call('DELETE', POD, { ...page, 'x-holdfast-console': '' })).status, 403);
  assert.equal((await console.call('GET', POD, { ...page, cookie: '' })).status, 401);
  assert.equal(server.asked.length, before, 'the API server was asked nothing');
});

test('a watch passes event by event, and ends at the API server when the page leaves it', async () => {
  const { route, answers } = held();
  await using server = await startFakeServer(route);
  const { console, page } = await setUp([server]);
  await using _ = console;
  const watch = await console.open(WATCH, page);
  assert.equal(watch.headers['content-type'], 'application/json');
  for (const event of ['{"n":1}\n', '{"n":2}\n']) {
    const arrived = nextText(watch);
    answers[0]?.write(event);
    assert.equal(await arrived, event);
  }
  const [answer] = answers;
  const ended = once(answer ?? watch, 'close');
  watch.destroy();
  await ended;
});

test('a terminal passes bytes both ways for one ticket, and the end of one side ends the other', async () => {
  await using server = await startFakeServer(OK);
  const { console, page } = await setUp([server]);
  await using _ = console;
  const ticketOf = async (): Promise<string> => {
    const { text } = await console.call('POST', '/ui/ticket', page);
    return (JSON.parse(text) as { ticket: string }).ticket;
  };
  const ticket = await ticketOf();
  const protocols = { 'sec-websocket-protocol': `v5.channel.k8s.io, holdfast.ticket.${ticket}` };
  const terminal = await console.upgrade(EXEC, { ...page, ...protocols });
  assert.ok(terminal instanceof Duplex);
  const echoed = nextText(terminal);
  terminal.write('ls\n');
  assert.equal(await echoed, 'ls\n');
  assert.equal(server.asked.at(-1)?.headers['sec-websocket-protocol'], 'v5.channel.k8s.io');
  const closed = once(server.upgraded[0] ?? terminal, 'close');
  terminal.destroy();
  await closed;
  assert.equal(await console.upgrade(EXEC, { ...page, ...protocols }), 401, 'a ticket that was used');
});

test('when an API server is gone the others answer; a write that may have arrived is told, not repeated', async () => {
  const dropping: Route = (incoming) => void incoming.socket.destroy();
  await using first = await startFakeServer(dropping);
  await using second = await startFakeServer(OK);
  const { console, page } = await setUp([first, second]);
  await using _ = console;
  const write = await console.call('DELETE', POD, page);
  assert.equal(write.status, 504);
  assert.match(write.text, /may have made the change/);
  assert.equal(second.asked.length, 0);
  assert.equal((await console.call('GET', POD, page)).status, 200);
  await first.stop();
  assert.equal((await console.call('DELETE', POD, page)).status, 200);
  await second.stop();
  const nobody = await console.call('GET', POD, page);
  assert.equal(nobody.status, 503);
  assert.match(nobody.text, /no API server answers the console/);
});

test('an API server that accepts a request and falls silent costs the page a deadline, not for ever', async () => {
  await using server = await startFakeServer(() => {});
  const { clock, console, page } = await setUp([server]);
  await using _ = console;
  const before = server.asked.length;
  const asked = console.call('DELETE', POD, page);
  await eventually(() => server.asked.length > before, 'the request to arrive');
  await clock.advance(30_000);
  assert.equal((await asked).status, 504);
});

test('a watch on a half-open connection ends', async () => {
  const { route, answers } = held();
  await using server = await startFakeServer(route);
  const { clock, console, page } = await setUp([server]);
  await using _ = console;
  const watch = await console.open(WATCH, page);
  const arrived = nextText(watch);
  answers[0]?.write('{}\n');
  await arrived;
  watch.on('error', () => {}).resume();
  // The console may ask for the next piece only now.
  await eventually(async () => {
    await clock.advance(90_000);
    return watch.destroyed || undefined;
  }, 'the watch to end');
});

test('a body that no API server would take ends here', async () => {
  await using server = await startFakeServer(OK);
  const { console, page } = await setUp([server]);
  await using _ = console;
  const before = server.asked.length;
  const large = await console.call('PUT', POD, { ...page, 'content-type': 'application/json' }, 'x'.repeat(TOO_LARGE));
  assert.equal(large.status, 413);
  assert.equal(server.asked.length, before);
});

test('a page that does not read holds back the API server', async () => {
  let written = 0;
  const piece = Buffer.alloc(64 * 1024, 'x');
  const endless: Route = (_incoming, outgoing) => {
    const go = (): void => {
      while (written < ENDLESS_BYTES) {
        written += piece.length;
        if (!outgoing.write(piece)) return void outgoing.once('drain', go);
      }
    };
    go();
  };
  await using server = await startFakeServer(endless);
  const { console, page } = await setUp([server]);
  await using _ = console;
  const log = await console.open('/ui/cluster/api/v1/namespaces/default/pods/web/log?follow=true', page);
  // Without bounds it would all be here in the end: then this never becomes still below it.
  let [last, still] = [-1, 0];
  await eventually(() => {
    still = written === last ? still + 1 : 0;
    last = written;
    return still > 10;
  }, 'the API server to wait');
  assert.ok(written < ENDLESS_BYTES, `${written} bytes were taken`);
  log.destroy();
});

test('each API server can be asked how it is, by name, in a session alone', async () => {
  const says =
    (text: string): Route =>
    (incoming, outgoing) =>
      void outgoing.writeHead(incoming.url === '/readyz?verbose=' ? 200 : 404).end(text);
  await using first = await startFakeServer(says('[+]ping ok'));
  await using second = await startFakeServer(says('[-]etcd failed'));
  const { console, page } = await setUp([first, second]);
  await using _ = console;
  const names = [first, second].map(({ url }) => new URL(url).host);
  assert.deepEqual(JSON.parse((await console.call('GET', '/ui/session', page)).text), { play: false, servers: names });
  const readyz = (name = '', headers = page) => console.call('GET', `/ui/servers/${name}/readyz?verbose=`, headers);
  assert.equal((await readyz(names[0])).text, '[+]ping ok');
  assert.equal((await readyz(names[1])).text, '[-]etcd failed');
  assert.equal((await readyz('127.0.0.1:1')).status, 404);
  assert.equal((await readyz(names[0], { ...page, cookie: '' })).status, 401);
  assert.equal((await console.call('GET', `/ui/servers/${names[0]}/api/v1/secrets`, page)).status, 404);
  await second.stop();
  assert.equal((await readyz(names[1])).status, 503, 'nobody else answers for it');
});

test('why a pod waits is asked of the scheduler, as the person, and everything else of the API', async () => {
  const placement = '/holdfast.io/scheduling/v1/namespaces/default/pods/web';
  await using server = await startFakeServer(OK);
  await using scheduler = await startFakeServer((_incoming, outgoing) =>
    outgoing.writeHead(200, { 'content-type': 'application/json' }).end('{"kind":"PlacementReport"}'),
  );
  await using console = await startTestConsole([server], {
    clock: createVirtualClock(),
    schedulerStatus: scheduler.url,
  });
  const page = await console.signIn();
  const { status, text } = await console.call('GET', `/ui/cluster${placement}`, page);
  assert.deepEqual([status, text], [200, '{"kind":"PlacementReport"}']);
  assert.equal((await console.call('GET', POD, page)).status, 200);
  const asked = scheduler.asked.map(({ url, headers }) => [url, headers.authorization]);
  assert.deepEqual(asked, [[placement, 'Bearer good']]);
  assert.equal(server.asked.at(-1)?.url, '/api/v1/namespaces/default/pods/web');
});
