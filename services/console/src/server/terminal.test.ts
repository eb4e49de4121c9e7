import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { ApiRequest, ApiResponse } from '@holdfast/client';
import { createSilentLog } from '@holdfast/platform';
import { createVirtualClock } from '@holdfast/platform/testing';
import { TICKET_LIFETIME_MS, TICKETS_OF_SESSION_MAX } from '../limits.ts';
import { createConsoleHandler } from './console.ts';
import { Files } from './files.ts';
import { Sessions } from './sessions.ts';

const HOST = '127.0.0.1:6443';
const EXEC = '/ui/stream/api/v1/namespaces/default/pods/web/exec';

function setUp() {
  const clock = createVirtualClock();
  let secrets = 0;
  const sessions = new Sessions({ clock, secret: () => `secret-${++secrets}` });
  const asked: ApiRequest[] = [];
  const handle = async (request: ApiRequest): Promise<ApiResponse> => {
    asked.push(request);
    return { status: 101, headers: { upgrade: 'websocket' }, body: { kind: 'empty' }, upgrade: () => {} };
  };
  const answer = createConsoleHandler({ sessions, handle, log: createSilentLog(), files: new Files(async () => []) });
  const open = (token: string) => {
    const { id, guard } = sessions.open(token, token);
    return { id, guard, cookie: `holdfast-ui-6443=${id}` };
  };
  const ticketOf = async ({ guard, cookie }: { guard: string; cookie: string }, headers: object = {}) => {
    const { status, body } = await answer({
      method: 'POST',
      path: '/ui/ticket',
      query: new URLSearchParams(),
      headers: { host: HOST, origin: `https://${HOST}`, 'x-holdfast-console': guard, cookie, ...headers },
    });
    const value = body.kind === 'json' ? (body.value() as { readonly ticket?: string }) : {};
    return { status, ticket: value.ticket ?? '' };
  };
  const connect = async (ticket: string, cookie: string, headers: object = {}, path = EXEC) => {
    const { status } = await answer({
      method: 'GET',
      path,
      query: new URLSearchParams('command=sh'),
      headers: {
        host: HOST,
        origin: `https://${HOST}`,
        upgrade: 'websocket',
        connection: 'Upgrade',
        'sec-websocket-key': 'key',
        'sec-websocket-version': '13',
        'sec-websocket-protocol': `v5.channel.k8s.io, holdfast.ticket.${ticket}`,
        cookie,
        ...headers,
      },
      connection: { remoteAddress: '127.0.0.1', clientCertificate: 'ab\nCN=somebody' },
    });
    return status;
  };
  return { clock, sessions, asked, open, ticketOf, connect };
}

test('a ticket opens one connection as the person of the session, and nothing of the browser gets to the API', async () => {
  const { asked, open, ticketOf, connect } = setUp();
  const session = open('good');
  const { ticket } = await ticketOf(session);
  assert.equal(await connect(ticket, session.cookie), 101);
  assert.equal(asked.at(-1)?.path, '/api/v1/namespaces/default/pods/web/exec');
  assert.deepEqual(asked.at(-1)?.headers, {
    connection: 'Upgrade',
    upgrade: 'websocket',
    'sec-websocket-key': 'key',
    'sec-websocket-version': '13',
    'sec-websocket-protocol': 'v5.channel.k8s.io',
    'user-agent': 'holdfast-console',
    authorization: 'Bearer good',
  });
  assert.deepEqual(asked.at(-1)?.connection, { remoteAddress: '127.0.0.1' });
  assert.equal(await connect(ticket, session.cookie), 401, 'it was used');
  assert.equal(asked.length, 1);
});

test('nothing is opened without a fresh ticket of that session', async () => {
  const { clock, sessions, asked, open, ticketOf, connect } = setUp();
  const [mine, theirs] = [open('good'), open('other')];
  assert.equal(await connect('', mine.cookie), 401, 'no ticket');
  assert.equal(await connect('guessed', mine.cookie), 401, 'a guess');
  const stolen = await ticketOf(mine);
  assert.equal(await connect(stolen.ticket, theirs.cookie), 401, 'of another session');
  assert.equal(await connect(stolen.ticket, mine.cookie), 401, 'and used up by that');
  assert.equal(await connect((await ticketOf(mine)).ticket, ''), 401, 'no cookie');
  const late = await ticketOf(mine);
  await clock.advance(TICKET_LIFETIME_MS);
  assert.equal(await connect(late.ticket, mine.cookie), 401, 'too late');
  const ended = await ticketOf(mine);
  sessions.close(mine.id);
  assert.equal(await connect(ended.ticket, mine.cookie), 401, 'signed out');
  assert.deepEqual(asked, []);
});

for (const [what, headers] of [
  ['another origin', { origin: 'https://evil.example' }],
  ['another port of this machine', { origin: 'https://127.0.0.1:9' }],
  ['no page: there is no origin', { origin: '' }],
  ['another site', { 'sec-fetch-site': 'same-site' }],
] as const) {
  test(`a WebSocket of ${what} is refused, and the ticket is used up`, async () => {
    const { asked, open, ticketOf, connect } = setUp();
    const session = open('good');
    const { ticket } = await ticketOf(session);
    assert.equal(await connect(ticket, session.cookie, headers), 403);
    assert.equal(await connect(ticket, session.cookie), 401);
    assert.deepEqual(asked, []);
  });
}

test('a ticket opens only exec and attach, and only as a WebSocket', async () => {
  const { asked, open, ticketOf, connect } = setUp();
  const session = open('good');
  for (const [path, headers, status] of [
    ['/ui/stream/api/v1/namespaces/default/pods/web/portforward', {}, 403],
    ['/ui/stream/api/v1/namespaces/default/pods/web/proxy/exec', {}, 403],
    ['/ui/stream/api/v1/pods', {}, 403],
    [EXEC, { upgrade: 'spdy/3.1' }, 405],
  ] as const) {
    const { ticket } = await ticketOf(session);
    assert.equal(await connect(ticket, session.cookie, headers, path), status, path);
  }
  assert.deepEqual(asked, []);
});

test('tickets are for who has both secrets of a session, and bounded', async () => {
  const { open, ticketOf, connect } = setUp();
  const session = open('good');
  assert.equal((await ticketOf({ ...session, guard: 'guess' })).status, 401);
  assert.equal((await ticketOf({ ...session, guard: '' })).status, 403);
  assert.equal((await ticketOf(session, { origin: 'https://evil.example' })).status, 403);
  const first = await ticketOf(session);
  for (let i = 0; i < TICKETS_OF_SESSION_MAX; i++) await ticketOf(session);
  assert.equal(await connect(first.ticket, session.cookie), 401, 'newer ones took its place');
  for (let i = 0; i < 16; i++) {
    const other = open(`user-${i}`);
    for (let j = 0; j < TICKETS_OF_SESSION_MAX; j++) await ticketOf(other);
  }
  assert.equal((await ticketOf(open('late'))).status, 429);
});
