import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { X509Certificate } from 'node:crypto';
import { once } from 'node:events';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { createInterface } from 'node:readline';
import { type TestContext, test } from 'node:test';
import { connect, type TLSSocket } from 'node:tls';
import { createClusterPki, withNewServer } from '@holdfast/pki/cluster-pki';
import { createSystemClock } from '@holdfast/platform';
import { waitFor } from '../support/wait.ts';

const SERVICES = path.resolve(import.meta.dirname, '../../services');
const NAMES = { dnsNames: ['localhost'], ipAddresses: ['127.0.0.1'] };
const clock = createSystemClock();

type Line = Readonly<Record<string, unknown>>;

type Put = (name: string, text: string) => string;

interface Program {
  readonly main: string;
  /** What it needs beside its port and certificate. */
  readonly settings: (put: Put, ca: string) => Readonly<Record<string, string>>;
  /** A request with a short answer. */
  readonly asks: string;
  readonly status: string;
}

const PROGRAMS: Readonly<Record<string, Program>> = {
  'an API server': {
    main: 'apiserver/src/main.ts',
    settings: (put) => ({ 'token-file': put('tokens.csv', 'secret,admin,1,"system:masters"\n') }),
    asks: '/version',
    status: 'HTTP/1.1 200',
  },
  'the console': {
    main: 'holdfast/src/console/main.ts',
    settings: (put, ca) => ({ 'api-servers': 'https://127.0.0.1:1', 'ca-file': put('ca.crt', ca) }),
    asks: '/nowhere',
    status: 'HTTP/1.1 404',
  },
};

/** The program, with the lines of its log so far. */
function startProgram(
  t: TestContext,
  main: string,
  settings: Readonly<Record<string, string>>,
): { readonly lines: readonly Line[] } {
  const args = Object.entries(settings).flatMap(([name, value]) => [`--${name}`, value]);
  const stdio = ['ignore', 'ignore', 'pipe'] as const;
  const child = spawn(process.execPath, ['--disable-warning=ExperimentalWarning', path.join(SERVICES, main), ...args], {
    stdio: [...stdio],
    env: {},
  });
  const lines: Line[] = [];
  createInterface({ input: child.stderr }).on('line', (line) => lines.push(JSON.parse(line) as Line));
  t.after(async () => {
    if (child.exitCode !== null || child.signalCode !== null) return;
    const exited = once(child, 'exit');
    child.kill('SIGTERM');
    await exited;
  });
  return { lines };
}

const serialOf = (pem: string): string => new X509Certificate(pem).serialNumber;

async function connected(port: number, ca: string): Promise<TLSSocket> {
  const socket = connect({ host: '127.0.0.1', port, ca });
  await once(socket, 'secureConnect');
  return socket;
}

async function shownAt(port: number, ca: string): Promise<string> {
  const socket = await connected(port, ca);
  const { serialNumber } = socket.getPeerCertificate();
  socket.destroy();
  return serialNumber;
}

/** The status of one more answer over an open connection. */
async function ask(socket: TLSSocket, url: string): Promise<string> {
  socket.write(`GET ${url} HTTP/1.1\r\nHost: localhost\r\n\r\n`);
  const [chunk] = (await once(socket, 'data')) as [Buffer];
  return chunk.toString('latin1').slice(0, 'HTTP/1.1 200'.length);
}

for (const [name, { main, settings, asks, status }] of Object.entries(PROGRAMS)) {
  test(`${name} serves a renewed certificate without a restart`, async (t) => {
    const folder = mkdtempSync(path.join(tmpdir(), 'holdfast-renewed-'));
    t.after(() => rmSync(folder, { recursive: true, force: true }));
    const put = (file: string, text: string): string => {
      writeFileSync(path.join(folder, file), text);
      return path.join(folder, file);
    };
    const pki = await createClusterPki(NAMES, clock.now());
    const { lines } = startProgram(t, main, {
      port: '0',
      'tls-cert-file': put('server.crt', pki.serverCertificate),
      'tls-key-file': put('server.key', pki.serverKey),
      ...settings(put, pki.caCertificate),
    });
    const logged = (field: string): unknown => lines.find((line) => line[field] !== undefined)?.[field];
    const port = Number(await waitFor('the server listens', () => logged('port') as number | undefined));
    const kept = await connected(port, pki.caCertificate);
    t.after(() => kept.destroy());
    assert.equal(await ask(kept, asks), status);
    assert.equal(await shownAt(port, pki.caCertificate), serialOf(pki.serverCertificate));
    const renewed = await withNewServer(pki, NAMES, clock.now());
    put('server.crt', renewed.serverCertificate);
    put('server.key', renewed.serverKey);
    const wanted = serialOf(renewed.serverCertificate);
    await waitFor('a new connection sees the renewed certificate', async () => {
      return (await shownAt(port, pki.caCertificate)) === wanted;
    });
    assert.equal(await ask(kept, asks), status);
    assert.ok(logged('validUntil'), 'the log says how long the renewed certificate is valid');
  });
}
