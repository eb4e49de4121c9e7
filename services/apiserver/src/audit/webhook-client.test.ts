import assert from 'node:assert/strict';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { createServer } from 'node:https';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { type TestContext, test } from 'node:test';
import { TLSSocket } from 'node:tls';
import { createSilentLog } from '@holdfast/platform';
import { createVirtualClock, type VirtualClock } from '@holdfast/platform/testing';
import { AUDIT_WEBHOOK_CREDENTIALS_MS } from '../limits.ts';
import { createCertificate } from '../testing/certificate.ts';
import { tls } from '../testing/https.ts';
import { openAuditWebhook } from './webhook-client.ts';

type Fields = Readonly<Record<string, unknown>>;

interface Webhook {
  readonly folder: string;
  readonly clock: VirtualClock;
  /** The credentials of the calls so far. */
  readonly calls: readonly string[];
  /** Answers with 401 to others; `undefined`: to nobody. */
  accepted: string | undefined;
  readonly open: (user: Fields) => ReturnType<typeof openAuditWebhook>;
}

/** Calls carry a token, or the name in a client certificate. */
async function webhook(t: TestContext): Promise<Webhook> {
  const folder = await mkdtemp(path.join(tmpdir(), 'holdfast-audit-'));
  t.after(() => rm(folder, { recursive: true, force: true }));
  const calls: string[] = [];
  const clock = createVirtualClock();
  const options = { cert: tls.certificate, key: tls.key, requestCert: true, rejectUnauthorized: false };
  const server = createServer(options, ({ headers, socket }, response) => {
    const name = socket instanceof TLSSocket ? socket.getPeerCertificate().subject?.CN : undefined;
    const shown = headers.authorization ?? String(name);
    calls.push(shown);
    response.statusCode = made.accepted === undefined || made.accepted === shown ? 200 : 401;
    response.end();
  });
  await new Promise<void>((done) => void server.listen(0, '127.0.0.1', done));
  t.after(() => server.close());
  const address = server.address();
  const port = typeof address === 'object' ? address?.port : 0;
  const authority = Buffer.from(tls.certificate).toString('base64');
  const cluster = { server: `https://127.0.0.1:${port}`, 'certificate-authority-data': authority };
  const made: Webhook = {
    folder,
    clock,
    calls,
    accepted: undefined,
    open: async (user) => {
      const file = path.join(folder, 'kubeconfig');
      await writeFile(
        file,
        JSON.stringify({ clusters: [{ cluster }], users: [{ user }], contexts: [{ context: {} }] }),
      );
      const opened = await openAuditWebhook(file, { clock, log: createSilentLog() });
      t.after(() => opened.close());
      return opened;
    },
  };
  return made;
}

test('a token file is read again after a minute, and stays what it was while it cannot be read', async (t) => {
  const { folder, clock, calls, open } = await webhook(t);
  const file = path.join(folder, 'token');
  await writeFile(file, 'one\n');
  const { send } = await open({ tokenFile: 'token', token: 'written beside it' });
  await send('{}');
  await writeFile(file, 'two\n');
  await clock.advance(AUDIT_WEBHOOK_CREDENTIALS_MS - 1);
  await send('{}');
  await clock.advance(1);
  await send('{}');
  await rm(file);
  await clock.advance(AUDIT_WEBHOOK_CREDENTIALS_MS);
  await send('{}');
  assert.deepEqual(calls, ['Bearer one', 'Bearer one', 'Bearer two', 'Bearer two']);
});

test('a refused token is read again for the next call', async (t) => {
  const made = await webhook(t);
  const file = path.join(made.folder, 'token');
  await writeFile(file, 'one');
  const { send } = await made.open({ tokenFile: file });
  made.accepted = 'Bearer two';
  await assert.rejects(send('{}'), /answered with status 401/);
  await writeFile(file, 'two');
  await send('{}');
  assert.deepEqual(made.calls, ['Bearer one', 'Bearer two']);
});

test('a client certificate is read again, with its key', async (t) => {
  const { folder, clock, calls, open } = await webhook(t);
  const [certFile, keyFile] = [path.join(folder, 'cert'), path.join(folder, 'key')];
  const [first, second] = [createCertificate('first'), createCertificate('second')];
  const put = (certificate: string, key: string): Promise<unknown> =>
    Promise.all([writeFile(certFile, certificate), writeFile(keyFile, key)]);
  await put(first.certificate, first.key);
  const { send } = await open({ 'client-certificate': certFile, 'client-key': keyFile });
  await send('{}');
  for (const key of [first.key, second.key]) {
    await put(second.certificate, key);
    await clock.advance(AUDIT_WEBHOOK_CREDENTIALS_MS);
    await send('{}');
  }
  assert.deepEqual(calls, ['first', 'first', 'second']);
});

test('a user with credentials that are not supported stops the start', async (t) => {
  const { open } = await webhook(t);
  for (const field of ['exec', 'auth-provider', 'as'])
    await assert.rejects(open({ [field]: {} }), new RegExp(`its user has ${field}, which is not supported`));
  await assert.rejects(open({ 'client-key-data': 'AAAA' }), /only one of client-certificate and client-key/);
  const [certificate, key] = [createCertificate().certificate, createCertificate().key];
  const inBase64 = (text: string): string => Buffer.from(text).toString('base64');
  const pair = { 'client-certificate-data': inBase64(certificate), 'client-key-data': inBase64(key) };
  await assert.rejects(open(pair), /client-key does not belong to client-certificate/);
});
