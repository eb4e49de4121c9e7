import assert from 'node:assert/strict';
import { once } from 'node:events';
import type { IncomingMessage } from 'node:http';
import { type TestContext, test } from 'node:test';
import { nodeHttp, readOkText } from './http.ts';

/** Returns the response of a server that sends this status and text. */
async function answered(t: TestContext, status: number, text: string): Promise<IncomingMessage> {
  const { createServer, get } = nodeHttp();
  const server = createServer((_request, response) => response.writeHead(status).end(text));
  t.after(() => {
    server.closeAllConnections();
    server.close();
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const address = server.address();
  assert.ok(typeof address === 'object' && address !== null);
  const [response] = await once(get({ host: '127.0.0.1', port: address.port, agent: false }), 'response');
  return response;
}

test('the text of an answer is read up to its limit only', async (t) => {
  const text = 'ü'.repeat(50);
  assert.equal(await readOkText(await answered(t, 200, text), 'the other', 100), text);
  await assert.rejects(
    readOkText(await answered(t, 200, text), 'the other', 99),
    /the answer of the other is too large/,
  );
});

test('any other status is reported with the start of its body', async (t) => {
  const refused = readOkText(await answered(t, 500, 'x'.repeat(5_000)), 'the other', 10_000);
  await assert.rejects(refused, { message: `the other answered with status 500: ${'x'.repeat(500)}` });
});
