import assert from 'node:assert/strict';
import type { Duplex } from 'node:stream';
import { type TestContext, test } from 'node:test';
import { connect, type TLSSocket } from 'node:tls';
import type { ApiHandler, ApiRequest, ApiResponse } from '@holdfast/client';
import { host, serve, tls } from '../testing/https.ts';

const OFFER = 'Host: x\r\nConnection: Upgrade, HTTP2-Settings\r\nUpgrade: h2c\r\nContent-Type: application/json\r\n';

const head = (method: string, lines: string): string => `${method} /api/v1/pods HTTP/1.1\r\n${OFFER}${lines}\r\n\r\n`;

/** Sends these texts one after the other; everything that comes until the server ends the connection. */
async function exchange(t: TestContext, port: number, ...texts: readonly string[]): Promise<string> {
  const client: TLSSocket = connect({ host, port, ca: tls.certificate });
  t.after(() => client.destroy());
  client.setNoDelay(true);
  for (const text of texts) await new Promise<void>((sent) => client.write(text, () => sent()));
  let answer = '';
  for await (const bytes of client) answer += String(bytes);
  return answer;
}

const echo: ApiHandler = async ({ method, body = 'nothing' }: ApiRequest): Promise<ApiResponse> => {
  const text = typeof body === 'string' ? body : 'bytes';
  return { status: 200, headers: {}, body: { kind: 'text', contentType: 'text/plain', text: `${method} of ${text}` } };
};

test('a request that offers another protocol keeps its body', async (t) => {
  const port = await serve(t, echo);
  for (const method of ['POST', 'PUT', 'DELETE']) {
    const whole = await exchange(t, port, `${head(method, 'Content-Length: 9')}{"a":"b"}`);
    assert.match(whole, new RegExp(`^HTTP/1.1 200 [^]*${method} of {"a":"b"}$`));
    const inPieces = await exchange(t, port, `${head(method, 'Content-Length: 9')}{"a`, '":"', 'b"}');
    assert.match(inPieces, new RegExp(`^HTTP/1.1 200 [^]*${method} of {"a":"b"}$`));
  }
  assert.match(await exchange(t, port, head('POST', 'Content-Length: 0')), /^HTTP\/1.1 200 [^]*POST of nothing$/);
});

test('a client that waits until it may send its body is told to continue', async (t) => {
  const port = await serve(t, echo);
  const lines = 'Content-Length: 2\r\nExpect: 100-continue';
  const answer = await exchange(t, port, head('POST', lines), '{}');
  assert.match(answer, /^HTTP\/1.1 100 Continue\r\n\r\nHTTP\/1.1 200 [^]*POST of {}$/);
});

test('what follows the body is of the other protocol', async (t) => {
  let body: unknown;
  const port = await serve(t, async (request) => {
    body = request.body;
    const upgrade = (connection: Duplex): void =>
      void connection.on('data', (bytes: Buffer) => connection.end(`got ${bytes.toString()}`));
    return { status: 101, headers: { connection: 'Upgrade', upgrade: 'h2c' }, body: { kind: 'empty' }, upgrade };
  });
  const answer = await exchange(t, port, `${head('POST', 'Content-Length: 2')}{}PING`);
  assert.match(answer, /^HTTP\/1.1 101 [^]*got PING$/);
  assert.equal(body, '{}');
});

test('a body that is too large, has no length or is cut off is refused, and reaches no handler', async (t) => {
  let asked = 0;
  const counted: ApiHandler = (request) => {
    asked += 1;
    return echo(request);
  };
  const port = await serve(t, counted, { bodyBytesMax: 100 });
  assert.match(await exchange(t, port, head('POST', 'Content-Length: 101')), /^HTTP\/1.1 413 /);
  const chunked = `${head('POST', 'Transfer-Encoding: chunked')}2\r\n{}\r\n0\r\n\r\n`;
  assert.match(await exchange(t, port, chunked), /^HTTP\/1.1 411 [^]*needs a Content-Length/);
  const options = { host, port, ca: tls.certificate, allowHalfOpen: true };
  const leaving = connect(options);
  t.after(() => leaving.destroy());
  leaving.end(`${head('POST', 'Content-Length: 9')}{"a`);
  for await (const bytes of leaving) assert.fail(`nobody reads an answer: ${String(bytes)}`);
  assert.equal(asked, 0);
});

test('bodies of answered requests free their space', async (t) => {
  const port = await serve(t, echo, { bodyBytesInFlightMax: 150 });
  for (let n = 0; n < 4; n++) {
    const answer = await exchange(t, port, `${head('POST', 'Content-Length: 100')}${'x'.repeat(100)}`);
    assert.match(answer, /^HTTP\/1.1 200 /);
  }
});
