import assert from 'node:assert/strict';
import { X509Certificate } from 'node:crypto';
import { chmodSync, mkdirSync, mkdtempSync, readFileSync, rmSync, statSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { type TestContext, test } from 'node:test';
import { cautionsOf, serverFlaw } from '@holdfast/pki/flaw';
import { OperatorError } from '@holdfast/platform';
import { DataDirectory } from './data-directory.ts';
import { lockDataDirectory } from './data-directory-lock.ts';

const DAY_MS = 86_400_000;
const NOW = 1_767_225_600_000;
const NAMES = { dnsNames: ['localhost'], ipAddresses: ['127.0.0.1'] };

function directory(t: TestContext): DataDirectory {
  const folder = mkdtempSync(path.join(tmpdir(), 'holdfast-data-directory-'));
  t.after(() => rmSync(folder, { recursive: true }));
  return new DataDirectory(folder, { ephemeral: false });
}

test('valid certificates are kept', async (t) => {
  const data = directory(t);
  const first = await data.certificates(NAMES, NOW);
  assert.deepEqual(await data.certificates(NAMES, NOW + DAY_MS), first);
});

test('a server certificate that expires soon or lacks a name is renewed by the same authority', async (t) => {
  const data = directory(t);
  const first = await data.certificates(NAMES, NOW);
  const more = { ...NAMES, dnsNames: ['localhost', 'api.example'] };
  const cases = [
    [more, NOW],
    [more, NOW + 800 * DAY_MS],
  ] as const;
  for (const [names, at] of cases) {
    const renewed = await data.certificates(names, at);
    assert.equal(renewed.caCertificate, first.caCertificate);
    assert.equal(renewed.caKey, first.caKey);
    const server = new X509Certificate(renewed.serverCertificate);
    assert.ok(server.verify(new X509Certificate(first.caCertificate).publicKey));
    assert.equal(server.checkHost('api.example'), 'api.example');
    assert.ok(server.validToDate.getTime() > at + 700 * DAY_MS);
    assert.deepEqual(await data.certificates(names, at), renewed, 'it is kept in its turn');
  }
});

test('after a clock was ahead: the server certificate is renewed, the authority stays and is reported', async (t) => {
  const data = directory(t);
  const first = await data.certificates(NAMES, NOW);
  assert.deepEqual(cautionsOf(first, NOW), []);
  const ahead = await data.certificates(NAMES, NOW + 800 * DAY_MS);
  const now = await data.certificates(NAMES, NOW);
  assert.notEqual(now.serverCertificate, ahead.serverCertificate);
  assert.ok(new X509Certificate(now.serverCertificate).validFromDate.getTime() <= NOW);
  assert.equal(now.caCertificate, first.caCertificate);
  const before = NOW - 400 * DAY_MS;
  assert.equal((await data.certificates(NAMES, before)).caCertificate, first.caCertificate);
  assert.match(
    cautionsOf(first, before).join(),
    /count from 2025-12-31T23:55:00Z and .* says 2024-11-27T00:00:00Z; set/,
  );
});

test('an authority that expires soon is renewed with all certificates', async (t) => {
  const data = directory(t);
  const first = await data.certificates(NAMES, NOW);
  const later = await data.certificates(NAMES, NOW + 3640 * DAY_MS);
  assert.notEqual(later.caCertificate, first.caCertificate);
});

test('a directory with damaged certificates, keys or tokens is refused, and left unchanged', async (t) => {
  const data = directory(t);
  await data.certificates(NAMES, NOW);
  data.serviceAccountKey();
  data.credentials(['node-1']);
  const reads: Readonly<Record<string, () => unknown>> = {
    'pki/ca.crt': () => data.certificates(NAMES, NOW),
    'pki/ca.key': () => data.certificates(NAMES, NOW),
    'pki/service-account.key': () => data.serviceAccountKey(),
    'tokens.csv': () => data.credentials(['node-1']),
  };
  for (const [name, read] of Object.entries(reads)) {
    const file = path.join(data.path, name);
    const sound = readFileSync(file, 'utf8');
    writeFileSync(file, 'garbage');
    await assert.rejects(async () => read(), isOperatorError('DataDirectoryDamaged'), name);
    assert.equal(readFileSync(file, 'utf8'), 'garbage');
    writeFileSync(file, sound);
    await read();
  }
});

test('a server certificate that is lost, damaged or of another key is made anew, and the authority is not touched', async (t) => {
  const data = directory(t);
  const first = await data.certificates(NAMES, NOW);
  const fileOf = (name: string): string => path.join(data.path, 'pki', name);
  const authority = (): unknown =>
    ['ca.crt', 'ca.key'].map((name) => [readFileSync(fileOf(name), 'utf8'), statSync(fileOf(name)).ino]);
  const before = authority();
  for (const [what, spoil] of [
    ['removed', () => ['server.crt', 'server.key'].forEach((name) => rmSync(fileOf(name)))],
    ['certificate lost', () => rmSync(fileOf('server.crt'))],
    ['key lost', () => rmSync(fileOf('server.key'))],
    ['certificate damaged', () => writeFileSync(fileOf('server.crt'), 'garbage')],
    // A renewal that was killed between two files.
    ['of another key', () => writeFileSync(fileOf('server.key'), first.serverKey)],
    ['of another authority', () => copyServer(t, data)],
  ] as const) {
    const earlier = await data.certificates(NAMES, NOW);
    await spoil();
    const mended = await data.certificates(NAMES, NOW);
    assert.notEqual(mended.serverCertificate, earlier.serverCertificate, what);
    assert.equal(serverFlaw(mended), undefined, what);
    assert.deepEqual(await data.certificates(NAMES, NOW), mended, what);
    assert.deepEqual(authority(), before, what);
  }
});

async function copyServer(t: TestContext, { path: target }: DataDirectory): Promise<void> {
  const other = await directory(t).certificates(NAMES, NOW);
  writeFileSync(path.join(target, 'pki/server.crt'), other.serverCertificate);
  writeFileSync(path.join(target, 'pki/server.key'), other.serverKey);
}

test('a lost authority is reported; files that a killed start has not written are created', async (t) => {
  const data = directory(t);
  await data.certificates(NAMES, NOW);
  const files = ['ca.crt', 'ca.key', 'server.crt', 'server.key'];
  for (const written of [3, 2, 1, 0]) {
    for (const file of files.slice(written)) rmSync(path.join(data.path, 'pki', file));
    await data.certificates(NAMES, NOW);
  }
  for (const file of ['ca.key', 'ca.crt']) {
    const sound = readFileSync(path.join(data.path, 'pki', file));
    rmSync(path.join(data.path, 'pki', file));
    await assert.rejects(
      data.certificates(NAMES, NOW),
      (error) => isOperatorError('DataDirectoryDamaged')(error) && String(error).includes(`pki/${file} is missing`),
    );
    writeFileSync(path.join(data.path, 'pki', file), sound);
  }
});

test('the certificate for aggregated API servers is kept, and renewed when it expires soon or is damaged', async (t) => {
  const data = directory(t);
  const first = await data.frontProxy(NOW);
  const certificate = new X509Certificate(first.certificate);
  assert.equal(certificate.subject, 'CN=front-proxy-client');
  assert.ok(certificate.verify(new X509Certificate(first.ca).publicKey));
  assert.deepEqual(await data.frontProxy(NOW + DAY_MS), first);
  const renewed = await data.frontProxy(NOW + 800 * DAY_MS);
  assert.notEqual(renewed.ca, first.ca);
  const file = path.join(data.path, 'pki/front-proxy-client.key');
  assert.equal(statSync(file).mode & 0o077, 0);
  writeFileSync(file, 'no key');
  const mended = await data.frontProxy(NOW + 800 * DAY_MS);
  assert.notEqual(mended.key, renewed.key);
  assert.deepEqual(await data.frontProxy(NOW + 801 * DAY_MS), mended);
});

test('a directory is created with its parents, for its owner only; a failure is reported, not retried for ever', (t) => {
  const { path: folder } = directory(t);
  const made = new DataDirectory(path.join(folder, 'a', 'b'), { ephemeral: false });
  assert.equal(statSync(made.path).mode & 0o777, 0o700);
  writeFileSync(path.join(folder, 'file'), '');
  for (const place of [path.join(folder, 'file', 'x'), '/proc/holdfast']) {
    assert.throws(() => new DataDirectory(place, { ephemeral: false }), isOperatorError('DataDirectoryUnusable'));
  }
});

test('an old directory that others could read is restricted at the start, and symbolic links are not followed', (t) => {
  const { path: folder } = directory(t);
  const outside = path.join(folder, 'outside');
  writeFileSync(outside, '', { mode: 0o644 });
  const data = path.join(folder, 'data');
  mkdirSync(path.join(data, 'pki'), { recursive: true, mode: 0o755 });
  mkdirSync(path.join(data, 'nodes', 'node-1'), { recursive: true, mode: 0o755 });
  const files = ['store.sqlite', 'store.sqlite-wal', 'kubeconfig', 'pki/ca.key'];
  for (const file of files) writeFileSync(path.join(data, file), '', { mode: 0o644 });
  symlinkSync(outside, path.join(data, 'link'));
  assert.equal(new DataDirectory(data, { ephemeral: false }).path, data);
  const modeOf = (file: string): string => (statSync(path.join(data, file)).mode & 0o777).toString(8);
  assert.deepEqual(files.map(modeOf), ['600', '600', '600', '600']);
  assert.deepEqual(['.', 'pki', 'nodes', 'nodes/node-1'].map(modeOf), ['700', '700', '700', '700']);
  assert.equal(modeOf('link'), '644');
});

test('a directory of something else is refused, and left unchanged', (t) => {
  const { path: folder } = directory(t);
  const foreign = path.join(folder, 'home');
  mkdirSync(path.join(foreign, 'pki'), { recursive: true });
  chmodSync(foreign, 0o755);
  const [note, plan] = ['note', 'kubeconfig'].map((name) => path.join(foreign, name));
  assert.ok(note !== undefined && plan !== undefined);
  writeFileSync(note, '', { mode: 0o644 });
  const elsewhere = { home: '/home', here: '/' };
  const link = path.join(folder, 'link');
  symlinkSync(foreign, link);
  for (const places of [
    { ...elsewhere, home: foreign },
    { ...elsewhere, home: link },
    { ...elsewhere, here: path.join(foreign, 'pki') },
  ])
    assert.throws(
      () => new DataDirectory(foreign, { ephemeral: true, places }),
      isOperatorError('DataDirectoryForeign'),
    );
  chmodSync(foreign, 0o777);
  assert.throws(
    () => new DataDirectory(foreign, { ephemeral: true, places: elsewhere }),
    isOperatorError('DataDirectoryForeign'),
  );
  chmodSync(foreign, 0o755);
  assert.deepEqual([statSync(foreign).mode & 0o777, statSync(note).mode & 0o777], [0o755, 0o644]);
  // Compose has folders of its containers there before the first start.
  assert.equal(new DataDirectory(foreign, { ephemeral: false, shared: true }).path, foreign);
  chmodSync(note, 0o644);
  writeFileSync(plan, '', { mode: 0o644 });
  assert.equal(new DataDirectory(foreign, { ephemeral: true }).path, foreign, 'it is one of a cluster');
  assert.deepEqual([statSync(foreign).mode & 0o777, statSync(plan).mode & 0o777], [0o700, 0o600]);
  assert.equal(statSync(note).mode & 0o777, 0o644, 'not our file');
});

test('a directory that somebody made for the cluster may have the files of its flags', (t) => {
  const { path: folder } = directory(t);
  const made = path.join(folder, 'cluster');
  mkdirSync(made);
  const policy = path.join(made, 'audit-policy.yaml');
  writeFileSync(policy, '', { mode: 0o644 });
  const places = { home: '/home', here: '/' };
  assert.equal(new DataDirectory(made, { ephemeral: false, places }).path, made);
  assert.equal(statSync(policy).mode & 0o777, 0o644);
  const link = path.join(folder, 'link');
  symlinkSync(made, link);
  rmSync(path.join(made, 'lock'), { force: true });
  assert.equal(new DataDirectory(link, { ephemeral: false, places }).path, link, 'judged by what it leads to');
});

test('a directory of a start that was killed early, one on a new disk and that of compose are taken', (t) => {
  const { path: folder } = directory(t);
  for (const [at, names] of [
    ['early', ['runtime', 'pod-network.new']],
    ['killed', ['tokens.csv.new']],
    ['disk', ['lost+found']],
    ['checkout', ['compose']],
    ['copied', ['store', 'pki']],
  ] as const) {
    for (const name of names) mkdirSync(path.join(folder, at, name), { recursive: true });
    // In a home only the names count.
    const places = { home: path.join(folder, at), here: '/' };
    assert.equal(new DataDirectory(path.join(folder, at), { ephemeral: false, places }).path, path.join(folder, at));
  }
});

test('a directory serves one instance at a time, and is free when that one ends', async (t) => {
  const data = directory(t);
  const first = await lockDataDirectory(data.path);
  await assert.rejects(lockDataDirectory(data.path), isOperatorError('DataDirectoryInUse'));
  first.release();
  (await lockDataDirectory(data.path)).release();
  await assert.rejects(lockDataDirectory(path.join(data.path, 'absent')), isOperatorError('DataDirectoryUnusable'));
});

const isOperatorError = (code: string) => (error: unknown) => error instanceof OperatorError && error.code === code;

function withLongPath(t: TestContext): { readonly data: DataDirectory; readonly parent: string } {
  const temporary = mkdtempSync(path.join(tmpdir(), 'holdfast-data-directory-'));
  t.after(() => rmSync(temporary, { recursive: true }));
  const data = new DataDirectory(path.join(temporary, 'd'.repeat(100)), { ephemeral: false, temporary });
  return { data, parent: path.join(temporary, `holdfast-${process.getuid?.() ?? 0}`) };
}

test('the sockets of the network of pods are hidden from pods, also outside the data directory', (t) => {
  const { data, parent } = withLongPath(t);
  const folder = data.networkFolder;
  assert.equal(path.dirname(folder), parent);
  assert.equal(statSync(parent).mode & 0o777, 0o700);
  assert.deepEqual(data.hiddenPaths, [data.path, folder]);
  const near = directory(t);
  assert.deepEqual(near.hiddenPaths, [near.path, path.join(near.path, 'network')]);
  assert.equal(near.networkFolder, path.join(near.path, 'network'));
});

test('a folder for sockets that others can write is refused', (t) => {
  const { data, parent } = withLongPath(t);
  mkdirSync(parent);
  chmodSync(parent, 0o777);
  const refusal = (error: unknown): boolean => error instanceof OperatorError && error.code === 'NetworkFolderUnsafe';
  assert.throws(() => data.networkFolder, refusal);
  rmSync(parent, { recursive: true });
  const elsewhere = path.join(path.dirname(parent), 'elsewhere');
  mkdirSync(elsewhere, { mode: 0o700 });
  symlinkSync(elsewhere, parent);
  assert.throws(() => data.networkFolder, refusal);
});
