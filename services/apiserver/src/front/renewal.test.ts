import assert from 'node:assert/strict';
import { X509Certificate } from 'node:crypto';
import { once } from 'node:events';
import { connect as connectHttp2 } from 'node:http2';
import { Agent, request } from 'node:https';
import { type TestContext, test } from 'node:test';
import { connect, type TLSSocket } from 'node:tls';
import type { ApiHandler } from '@holdfast/client';
import { createSilentLog, type Log } from '@holdfast/platform';
import { eventually } from '@holdfast/platform/contract';
import { createCertificate } from '../testing/certificate.ts';
import { createHttpsServer } from './index.ts';
import { createSameThreadHttpsServer } from './same-thread.ts';

const FORMS = { 'in a thread of its own': createHttpsServer, 'in this thread': createSameThreadHttpsServer } as const;
const client = createCertificate('somebody');

const handle: ApiHandler = async ({ connection }) => ({
  status: 200,
  headers: {},
  body: { kind: 'text', contentType: 'text/plain', text: connection?.clientCertificate ?? 'nobody' },
});

async function serve(t: TestContext, form: keyof typeof FORMS, log = createSilentLog()) {
  const first = createCertificate();
  const tls = { ...first, clientCa: client.certificate };
  const server = FORMS[form]({ handle, log, host: '127.0.0.1', port: 0, tls });
  const clients: { destroy(): unknown }[] = [];
  const open = <T extends { destroy(): unknown }>(each: T): T => {
    clients.push(each);
    return each;
  };
  t.after(async () => {
    // A server that stops waits for its clients.
    for (const each of clients) each.destroy();
    await server.stop();
  });
  await server.start();
  return { server, first, port: server.address().port, open };
}

const serialOf = (pem: string): string => new X509Certificate(pem).serialNumber;

interface Shown {
  readonly serial: string;
  readonly protocol: string | false | null;
}

/** What a new connection sees. */
async function shownAt(port: number): Promise<Shown> {
  const socket = connect({ host: '127.0.0.1', port, rejectUnauthorized: false, ALPNProtocols: ['h2', 'http/1.1'] });
  await once(socket, 'secureConnect');
  const shown = { serial: socket.getPeerCertificate().serialNumber, protocol: socket.alpnProtocol };
  socket.destroy();
  return shown;
}

/** One request over the only connection of the agent. */
function ask(agent: Agent, port: number): Promise<{ readonly text: string; readonly serial: string }> {
  return new Promise((resolve, reject) => {
    const sent = request({ host: '127.0.0.1', port, path: '/x', agent }, (response) => {
      let text = '';
      const { serialNumber: serial } = (response.socket as TLSSocket).getPeerCertificate();
      response.setEncoding('utf8').on('data', (chunk: string) => (text += chunk));
      response.on('end', () => resolve({ text, serial }));
    });
    sent.on('error', reject);
    sent.end();
  });
}

for (const form of Object.keys(FORMS) as (keyof typeof FORMS)[]) {
  test(`a server ${form} shows a renewed certificate to new connections, and open ones go on`, async (t) => {
    const { server, first, port, open } = await serve(t, form);
    const agent = open(new Agent({ keepAlive: true, maxSockets: 1, ca: first.certificate }));
    assert.equal((await ask(agent, port)).serial, serialOf(first.certificate));
    const session = open(connectHttp2(`https://127.0.0.1:${port}`, { ca: first.certificate }));
    await once(session, 'connect');
    const renewed = createCertificate();
    server.renew(renewed);
    const wanted = serialOf(renewed.certificate);
    await eventually(
      async () => (await shownAt(port)).serial === wanted,
      'a new connection sees the renewed certificate',
    );
    assert.equal((await ask(agent, port)).serial, serialOf(first.certificate));
    const [headers] = await once(session.request({ ':path': '/x' }), 'response');
    assert.equal(headers[':status'], 200);
  });

  test(`a server ${form} keeps its other settings with a renewed certificate`, async (t) => {
    const { server, port, open } = await serve(t, form);
    const renewed = createCertificate();
    server.renew(renewed);
    const wanted = serialOf(renewed.certificate);
    await eventually(async () => (await shownAt(port)).serial === wanted, 'the renewed certificate is served');
    assert.equal((await shownAt(port)).protocol, 'h2');
    const { certificate: cert, key } = client;
    const agent = open(new Agent({ cert, key, ca: renewed.certificate }));
    assert.match((await ask(agent, port)).text, /somebody/);
  });
}

test('a thread that refuses a renewed certificate says so, and goes on with the one before', async (t) => {
  const refused: string[] = [];
  const log: Log = { ...createSilentLog(), error: (text) => void refused.push(text) };
  const { server, first, port } = await serve(t, 'in a thread of its own', log);
  server.renew({ certificate: 'none', key: 'none' });
  await eventually(async () => refused.length > 0, 'the log says that it was refused');
  assert.deepEqual(refused, ['the server refuses the renewed certificate, and the one before stays']);
  assert.equal((await shownAt(port)).serial, serialOf(first.certificate));
});
