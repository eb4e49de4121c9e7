import assert from 'node:assert/strict';
import { once } from 'node:events';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { type TestContext, test } from 'node:test';
import { resourcePattern } from '@holdfast/bus';
import { collect, eventually, message } from '@holdfast/bus/contract';
import { createNatsBus, type NatsBusOptions } from '@holdfast/bus/nats';
import { createClusterPki, issueCertificate } from '@holdfast/pki/cluster-pki';
import { createIds, createSilentLog, createSystemClock, createSystemRandom } from '@holdfast/platform';
import type { TlsClient } from '@holdfast/platform/tls-client';
import type { DurableStore } from '@holdfast/store';
import { createRedisStore, type RedisStoreOptions } from '@holdfast/store/redis';
import { REDIS_DISCONNECT_TIMEOUT_MS } from '../../libs/store/src/limits.ts';
import { freePort } from '../support/free-port.ts';
import { startNatsServer } from '../support/nats-server.ts';
import { startRedis } from '../support/redis-server.ts';

const clock = createSystemClock();
const log = createSilentLog();
const ids = createIds(createSystemRandom());
const NAMES = { dnsNames: ['localhost'], ipAddresses: ['127.0.0.1'] };
/** A store keeps trying this long: time for its first attempt to fail on a slow machine. */
const REFUSED_AFTER_MS = 6_000;
const PASSWORD = 'a-password-that-nobody-else-may-see';

interface Pki {
  readonly ca: string;
  /** Signed by it. */
  readonly client: Required<Pick<TlsClient, 'cert' | 'key'>>;
  readonly file: (name: 'ca.crt' | 'server.crt' | 'server.key') => string;
}

async function createPki(t: TestContext): Promise<Pki> {
  const directory = await mkdtemp(path.join(tmpdir(), 'holdfast-tls-'));
  t.after(() => rm(directory, { recursive: true, force: true }));
  const pki = await createClusterPki(NAMES, clock.now());
  const client = await issueCertificate(pki, { user: 'apiserver', purpose: 'client', nowMs: clock.now() });
  const file = (name: string): string => path.join(directory, name);
  await writeFile(file('ca.crt'), pki.caCertificate);
  await writeFile(file('server.crt'), pki.serverCertificate);
  await writeFile(file('server.key'), pki.serverKey);
  return { ca: pki.caCertificate, client: { cert: client.certificate, key: client.key }, file };
}

/** A Redis that speaks TLS on one port and plain text on another. */
async function startTlsRedis(
  t: TestContext,
  pki: Pki,
  settings: Readonly<Record<string, string>> = {},
): Promise<{ readonly encrypted: string; readonly plain: string; readonly asPlain: string }> {
  const port = await freePort();
  const server = await startRedis({
    'tls-port': String(port),
    'tls-cert-file': pki.file('server.crt'),
    'tls-key-file': pki.file('server.key'),
    'tls-ca-cert-file': pki.file('ca.crt'),
    'tls-auth-clients': 'no',
    ...settings,
  });
  t.after(() => server.stop());
  return { encrypted: `rediss://127.0.0.1:${port}`, plain: server.url, asPlain: `redis://127.0.0.1:${port}` };
}

async function openStore(t: TestContext, options: Pick<RedisStoreOptions, 'url' | 'tls'>): Promise<DurableStore> {
  const store = await createRedisStore({ ...options, clock, ids, log, startTimeoutMs: 5_000 });
  t.after(() => store.close());
  return store;
}

const withTls = (tls: TlsClient | undefined): { readonly tls?: TlsClient } => (tls === undefined ? {} : { tls });

test('the store works over TLS: written data are read, and followed', async (t) => {
  const pki = await createPki(t);
  const { encrypted } = await startTlsRedis(t, pki);
  const store = await openStore(t, { url: encrypted, tls: { ca: pki.ca } });
  const written = await store.write([{ kind: 'create', key: 'core/things/ns/a', value: '{}' }]);
  assert.equal(written.outcome, 'committed');
  assert.equal((await store.get('core/things/ns/a')).object?.value, '{}');
  const followed: string[] = [];
  const stop = new AbortController();
  const following = (async () => {
    for await (const changes of store.changes({ after: 0, signal: stop.signal })) {
      followed.push(...changes.map(({ key }) => key));
    }
  })();
  await eventually(() => followed.length > 0, 'the change is followed');
  stop.abort();
  await following;
  assert.deepEqual(followed, ['core/things/ns/a']);
});

test('a Redis that cannot be trusted, or does not trust us, is refused with the reason and the next step', async (t) => {
  const pki = await createPki(t);
  const other = await createPki(t);
  const open = await startTlsRedis(t, pki);
  const strict = await startTlsRedis(t, pki, { 'tls-auth-clients': 'yes' });
  const cases: readonly (readonly [string, TlsClient | undefined, RegExp])[] = [
    [
      open.encrypted,
      { ca: other.ca },
      /certificate is signed by another authority: name that authority with --store-ca-file/,
    ],
    [open.encrypted, undefined, /certificate is signed by another authority/],
    [open.plain.replace('redis:', 'rediss:'), { ca: pki.ca }, /a server that does not speak TLS/],
    [open.asPlain, undefined, /a server that requires TLS closes connections like this: try rediss:/],
    [open.encrypted.replace('//', '//apiserver:wrong@'), { ca: pki.ca }, /user or password is wrong/],
    [strict.encrypted, { ca: pki.ca }, /refuses this client's certificate: name one .* with --store-cert-file/],
  ];
  await Promise.all(
    cases.map(async ([url, tls, reason]) => {
      const opened = createRedisStore({ url, ...withTls(tls), clock, ids, log, startTimeoutMs: REFUSED_AFTER_MS });
      await assert.rejects(opened, (error: Error & { code?: string }) => {
        assert.equal(error.code, 'STORE_UNREACHABLE');
        assert.match(error.message, reason, url);
        assert.doesNotMatch(error.message, /wrong@/);
        return true;
      });
    }),
  );
  await openStore(t, { url: strict.encrypted, tls: { ca: pki.ca, ...pki.client } });
});

test('an untrusted Redis that sends data after its abandoned handshake causes no failure', async (t) => {
  const pki = await createPki(t);
  const other = await createPki(t);
  const { encrypted } = await startTlsRedis(t, pki);
  for (let round = 0; round < 8; round++) {
    const opened = Array.from({ length: 8 }, (_, i) =>
      createRedisStore({ url: encrypted, tls: { ca: other.ca }, clock, ids, log, startTimeoutMs: 1 + round + i }),
    );
    await Promise.all(opened.map((each) => assert.rejects(each, { code: 'STORE_UNREACHABLE' })));
  }
  // Late messages arrive before the sockets are closed by force.
  await clock.sleep(10 * REDIS_DISCONNECT_TIMEOUT_MS);
});

function openBus(t: TestContext, options: Pick<NatsBusOptions, 'servers' | 'tls' | 'user' | 'password'>) {
  const bus = createNatsBus({ ...options, role: 'publisher', clock, log });
  t.after(() => bus.close());
  return bus;
}

const serverTls = (pki: Pki, clients: boolean) => ({
  certFile: pki.file('server.crt'),
  keyFile: pki.file('server.key'),
  ...(clients ? { clientCaFile: pki.file('ca.crt') } : {}),
});

test('the bus works over TLS', async (t) => {
  const pki = await createPki(t);
  await using server = await startNatsServer({ tls: serverTls(pki, false) });
  const bus = openBus(t, { servers: [server.url], tls: { ca: pki.ca } });
  const seen = await collect(bus, resourcePattern('test.dev', 'things'), { after: 0 });
  await eventually(async () => {
    await bus.publish([message(1)]).catch(() => undefined);
    return seen.received.length > 0;
  }, 'a change arrives');
  assert.equal(seen.received[0]?.revision, 1);
});

test('a NATS that cannot be trusted, or does not trust us, is reported with the reason and the next step', async (t) => {
  const pki = await createPki(t);
  const other = await createPki(t);
  const users = [{ role: { kind: 'apiserver' }, password: PASSWORD } as const];
  await using plain = await startNatsServer({ users });
  await using open = await startNatsServer({ users, tls: serverTls(pki, false) });
  await using strict = await startNatsServer({ tls: serverTls(pki, true) });
  const user = 'apiserver';
  const cases: readonly (readonly [string, Parameters<typeof openBus>[1], RegExp])[] = [
    [
      'wrong authority',
      { servers: [open.url], tls: { ca: other.ca } },
      /signed by another authority: .* --bus-ca-file/,
    ],
    ['no authority', { servers: [open.url] }, /signed by another authority/],
    ['plain', { servers: [plain.url.replace('nats:', 'tls:')], user, password: PASSWORD }, /does not speak TLS/],
    ['password', { servers: [open.url], tls: { ca: pki.ca }, user, password: 'wrong' }, /user or password is wrong/],
    ['no certificate', { servers: [strict.url], tls: { ca: pki.ca } }, /refuses this client's certificate|--bus-cert/],
  ];
  for (const [what, options, reason] of cases) {
    const bus = openBus(t, options);
    await eventually(() => reason.test(bus.health().join()), `${what}: ${reason}`).catch((cause: unknown) => {
      throw new Error(`${what}: ${bus.health().join()}`, { cause });
    });
  }
  const trusted = openBus(t, { servers: [strict.url], tls: { ca: pki.ca, ...pki.client } });
  await eventually(() => trusted.health().length === 0, 'a client with a certificate is served');
});

test('a fake NATS server without TLS receives no password', async (t) => {
  let heard = '';
  let visits = 0;
  const pretender = createServer((socket) => {
    visits += 1;
    socket.on('error', () => {});
    socket.on('data', (data) => {
      heard += data.toString('latin1');
    });
    socket.write('INFO {"server_id":"x","version":"2.9.10","proto":1,"headers":true,"max_payload":1048576}\r\n');
  }).listen(0, '127.0.0.1');
  t.after(() => pretender.close());
  await once(pretender, 'listening');
  const address = pretender.address();
  assert.ok(address !== null && typeof address === 'object');
  const bus = openBus(t, { servers: [`tls://127.0.0.1:${address.port}`], user: 'apiserver', password: PASSWORD });
  await eventually(() => visits >= 3, 'the client has tried three times');
  assert.match(bus.health().join(), /does not speak TLS/);
  assert.ok(!heard.includes('CONNECT') && !heard.includes(PASSWORD), heard);
});
