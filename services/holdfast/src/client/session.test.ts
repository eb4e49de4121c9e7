import assert from 'node:assert/strict';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import type { RequestListener } from 'node:http';
import { createServer } from 'node:https';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { type TestContext, test } from 'node:test';
import { PODS } from '@holdfast/api';
import { createTestCertificate } from '@holdfast/client/testing';
import { createSystemClock, OperatorError } from '@holdfast/platform';
import { openSession } from './session.ts';

const { certPem, keyPem } = createTestCertificate();

/** A session with a server that uses this listener. */
async function sessionWith(t: TestContext, answer: RequestListener) {
  const server = createServer({ cert: certPem, key: keyPem }, answer);
  const listening = Promise.withResolvers<void>();
  server.listen(0, '127.0.0.1', listening.resolve);
  await listening.promise;
  const address = server.address();
  const port = typeof address === 'object' ? address?.port : undefined;
  const folder = mkdtempSync(path.join(tmpdir(), 'holdfast-session-'));
  const file = path.join(folder, 'kubeconfig');
  const cluster = {
    server: `https://127.0.0.1:${port}`,
    'certificate-authority-data': Buffer.from(certPem).toString('base64'),
  };
  const config = {
    'current-context': 'c',
    contexts: [{ name: 'c', context: { cluster: 'c', user: 'u' } }],
    clusters: [{ name: 'c', cluster }],
    users: [{ name: 'u', user: { token: 'secret' } }],
  };
  writeFileSync(file, JSON.stringify(config));
  const told: string[] = [];
  const terminal = {
    print: () => {},
    tell: (line: string) => void told.push(line),
    env: {},
    clock: createSystemClock(),
  };
  const session = await openSession({ namespace: undefined, name: undefined, kubeconfig: file }, terminal);
  t.after(async () => {
    await session[Symbol.asyncDispose]();
    server.closeAllConnections();
    server.close();
    rmSync(folder, { recursive: true });
  });
  return { session, told };
}

test('every request carries the credential, and every warning of the server is printed', async (t) => {
  const { session, told } = await sessionWith(t, ({ headers }, response) => {
    response.writeHead(200, { 'content-type': 'application/json', warning: '299 - "mind the gap"' });
    response.end(JSON.stringify({ user: headers.authorization }));
  });
  assert.deepEqual(await session.read('/version', 'application/json'), { user: 'Bearer secret' });
  assert.deepEqual(told, ['Warning: mind the gap']);
});

test('a missing answer is reported: a read can be repeated, a write may have been applied', async (t) => {
  const { session } = await sessionWith(t, (request) => request.socket.destroy());
  const tells = (step: RegExp) => (error: unknown) => error instanceof OperatorError && step.test(error.nextStep);
  await assert.rejects(session.read('/version', 'application/json'), tells(/^Check that it runs/));
  await assert.rejects(
    session.client.delete(PODS, { namespace: 'a', name: 'b' }),
    tells(/^The server may have applied it/),
  );
});
