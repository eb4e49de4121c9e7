import assert from 'node:assert/strict';
import { afterEach, test } from 'node:test';
import type { Json } from '@holdfast/machinery';
import { createIds, createSilentLog, createSystemRandom } from '@holdfast/platform';
import { eventually } from '@holdfast/platform/contract';
import { createVirtualClock, type VirtualClock } from '@holdfast/platform/testing';
import { createSealedStore, isSealed, type Store } from '@holdfast/store';
import { createMemoryStore } from '@holdfast/store/memory';
import { KMS_FEED_WAIT_MS } from '../../limits.ts';
import { type Answer, startTestApi, type TestApi } from '../../testing/fixture.ts';
import { statusMessage, TestKmsPlugin } from '../../testing/kms-plugin.ts';
import { keyServicesOf, type ReadEncryption, readEncryptionConfiguration } from '../configuration.ts';
import { createSealer } from '../sealer.ts';
import { KmsProvider } from './provider.ts';
import { encodeFields } from './wire.ts';

const SECRETS = '/api/v1/namespaces/default/secrets';
const KEY = 'core/secrets/default/s';
const POLL_MS = 60_000;
const RETRY_MS = 10_000;
const TIMEOUT_MS = 3_000;

/** Virtual time that also knows how many calls of a plugin are under way. */
interface PluginClock extends VirtualClock {
  callsUnderWay(): number;
}

function createPluginClock(): PluginClock {
  const clock = createVirtualClock();
  const calls = new Set<object>();
  const timer: VirtualClock['timer'] = (delayMs, fire) => {
    if (delayMs !== TIMEOUT_MS) return clock.timer(delayMs, fire);
    const call = {};
    calls.add(call);
    const pending = clock.timer(delayMs, fire);
    return {
      cancel: () => {
        calls.delete(call);
        pending.cancel();
      },
    };
  };
  return { ...clock, timer, callsUnderWay: () => calls.size };
}

/** Advances in the steps of the status polls. Each poll gets its real answer before time goes on. */
async function pass({ clock }: { readonly clock: PluginClock }, ms: number): Promise<void> {
  for (let left = ms; left > 0; left -= RETRY_MS) {
    await clock.advance(Math.min(left, RETRY_MS));
    await eventually(async () => clock.callsUnderWay() === 0, 'the plugin has answered');
  }
}

const cleanups: (() => Promise<void>)[] = [];
afterEach(async () => {
  for (const cleanup of cleanups.splice(0).toReversed()) await cleanup();
});

async function pluginThat(state: 'listens' | 'is away'): Promise<TestKmsPlugin> {
  const plugin = await TestKmsPlugin.create();
  cleanups.push(() => plugin.remove());
  if (state === 'listens') await plugin.listen();
  return plugin;
}

const kmsOf = ({ socket }: TestKmsPlugin, name = 'vault'): Json => ({
  kms: { apiVersion: 'v2', name, endpoint: `unix://${socket}` },
});
const IDENTITY: Json = { identity: {} };

function readWith(clock: VirtualClock, ...providers: readonly Json[]): ReadEncryption {
  const tools = { clock, ids: createIds(createSystemRandom()), log: createSilentLog() };
  const config = {
    apiVersion: 'apiserver.config.k8s.io/v1',
    kind: 'EncryptionConfiguration',
    resources: [{ resources: ['secrets'], providers: [...providers] }],
  };
  return readEncryptionConfiguration(config, (settings) => new KmsProvider(settings, tools));
}

interface Sealing {
  readonly store: Store;
  readonly provider: KmsProvider;
  readonly clock: PluginClock;
  readonly read: ReadEncryption;
}

/** The store of a server whose KMS provider has started. Only the provider is on the virtual clock. */
async function sealingOn(base: Store, ...providers: readonly Json[]): Promise<Sealing> {
  const clock = createPluginClock();
  const read = readWith(clock, ...providers);
  assert.deepEqual(read.mistakes, []);
  const [provider = assert.fail()] = read.kms;
  await provider.start();
  cleanups.push(() => provider.stop());
  return { store: createSealedStore(base, createSealer(read.rules)), provider, clock, read };
}

interface Server extends Sealing {
  readonly api: TestApi;
}

async function serverOn(base: Store, ...providers: readonly Json[]): Promise<Server> {
  const sealing = await sealingOn(base, ...providers);
  const api = await startTestApi({ store: sealing.store, keyServices: keyServicesOf(sealing.read.kms) });
  // Together: a server whose feed waits for a call stops when the call ends.
  cleanups.push(async () => void (await Promise.all([sealing.provider.stop(), api.server.stop()])));
  return { ...sealing, api };
}

const post = ({ api }: Server, name = 's'): Promise<Answer> =>
  api.call('POST', SECRETS, { body: { metadata: { name }, stringData: { password: 'hunter2' } } });
const rawOf = async (base: Store): Promise<string> => (await base.get(KEY)).object?.value ?? '';
/** The part of a stored value that is the same for all objects of a seed. */
const sourceOf = (raw: string): string => raw.split(':').slice(0, -1).join(':');
const password = (answer: Answer): string => Buffer.from(answer.textAt('data.password'), 'base64').toString();

test('stored data reveal nothing, and a server with an unseen seed reads everything', async () => {
  const plugin = await pluginThat('listens');
  const base = createMemoryStore();
  const first = await serverOn(base, kmsOf(plugin), IDENTITY);
  assert.equal((await post(first)).status, 201);
  const raw = await rawOf(base);
  assert.match(raw, /^k8s:enc:kms:v2:vault:[A-Za-z0-9+/=]+:[A-Za-z0-9+/=]+$/);
  assert.ok(!raw.includes(Buffer.from('hunter2').toString('base64')));
  assert.equal(password(await first.api.call('GET', `${SECRETS}/s`)), 'hunter2');
  const next = await serverOn(base, kmsOf(plugin));
  assert.equal(password(await next.api.call('GET', `${SECRETS}/s`)), 'hunter2');
  assert.deepEqual((await next.api.call('GET', SECRETS)).names(), ['s']);
  assert.equal(plugin.count('Encrypt'), 2, 'one seed for each server');
  assert.equal(plugin.count('Decrypt'), 1);
  const uids = plugin.calls.filter(({ method }) => method !== 'Status').map(({ uid }) => uid);
  assert.ok(uids.every((uid) => uid !== ''));
  assert.equal(new Set(uids).size, uids.length, 'each call has an id of its own');
  const metrics = String((await next.api.call('GET', '/metrics')).body);
  const calls = 'apiserver_envelope_encryption_kms_operations_latency_seconds_count';
  const decrypt = 'provider_name="vault",method_name="/v2.KeyManagementService/Decrypt",grpc_status_code="OK"';
  assert.ok(metrics.includes(`${calls}{${decrypt}} 1\n`), 'the call is counted');
  assert.match(metrics, /\napiserver_envelope_encryption_dek_source_cache_size\{provider_name="vault"\} 2\n/);
  const ready = await next.api.call('GET', '/readyz?verbose');
  assert.match(String(ready.body), /\[\+\]kms-providers ok\n\[\+\]kms-provider-0 ok\n/);
});

test('1,000 objects of one seed cost one Encrypt and one Decrypt, and no two have the same key', async () => {
  const plugin = await pluginThat('listens');
  const base = createMemoryStore();
  const writer = await sealingOn(base, kmsOf(plugin));
  const keys = Array.from({ length: 1_000 }, (_, i) => `core/secrets/default/s${i}`);
  for (const key of keys) await writer.store.write([{ kind: 'create', key, value: '{"a":"same"}' }]);
  assert.equal(plugin.count('Encrypt'), 1);
  assert.equal(new Set((await base.list('')).objects.map(({ value }) => value)).size, keys.length);
  const reader = await sealingOn(base, kmsOf(plugin));
  await Promise.all(keys.slice(0, 10).map((key) => reader.store.get(key)));
  assert.equal(plugin.count('Decrypt'), 1, 'readers at one time share it');
  const { objects } = await reader.store.list('');
  assert.equal(objects.filter(({ value }) => value === '{"a":"same"}').length, keys.length);
  assert.equal(plugin.count('Decrypt'), 1);
});

test('data sealed for one object do not open as another, nor after a change', async () => {
  const plugin = await pluginThat('listens');
  const { provider } = await sealingOn(createMemoryStore(), kmsOf(plugin));
  const sealed = provider.seal(Buffer.from('{"a":1}'), 'core/secrets/ns/a', 'create');
  assert.equal(provider.open(sealed, 'core/secrets/ns/a').bytes.toString(), '{"a":1}');
  const refusal = /the key does not fit, or the data were changed/;
  assert.throws(() => provider.open(sealed, 'core/secrets/ns/b'), refusal);
  const [source = '', data = ''] = sealed.split(':');
  const bytes = Buffer.from(data, 'base64');
  for (let at = 0; at < bytes.length; at++) {
    const changed = Buffer.from(bytes);
    changed[at] = (changed[at] ?? 0) ^ 1;
    assert.throws(() => provider.open(`${source}:${changed.toString('base64')}`, 'core/secrets/ns/a'), refusal);
    assert.throws(() => provider.open(`${source}:${bytes.subarray(0, at).toString('base64')}`, 'core/secrets/ns/a'));
  }
});

test('a new key id creates a new seed; older objects stay readable, and a rewrite renews them', async () => {
  const plugin = await pluginThat('listens');
  const base = createMemoryStore();
  const server = await serverOn(base, kmsOf(plugin));
  await post(server);
  const before = await rawOf(base);
  const read = await server.api.call('GET', `${SECRETS}/s`);
  const kept = await server.api.call('PUT', `${SECRETS}/s`, { body: read.body });
  assert.equal(kept.at('metadata.resourceVersion'), read.at('metadata.resourceVersion'), 'nothing is to do');
  await pass(server, POLL_MS);
  assert.equal(plugin.count('Status'), 2);
  assert.equal(plugin.count('Encrypt'), 1, 'the same key id keeps the seed');
  plugin.keyId = 'key-2';
  await pass(server, POLL_MS);
  assert.equal(plugin.count('Encrypt'), 2);
  await server.api.call('PUT', `${SECRETS}/s`, { body: read.body });
  assert.notEqual(sourceOf(await rawOf(base)), sourceOf(before), 'a rewrite takes the new seed');
  const replaced = await server.api.call('GET', `${SECRETS}/s`);
  const again = await server.api.call('PUT', `${SECRETS}/s`, { body: replaced.body });
  assert.equal(again.at('metadata.resourceVersion'), replaced.at('metadata.resourceVersion'), 'nothing is left to do');
  assert.equal(password(again), 'hunter2');
});

test('identity first: objects encrypted by a KMS are readable and are rewritten in clear text', async () => {
  const plugin = await pluginThat('listens');
  const base = createMemoryStore();
  await post(await serverOn(base, kmsOf(plugin)));
  const off = await serverOn(base, IDENTITY, kmsOf(plugin));
  const read = await off.api.call('GET', `${SECRETS}/s`);
  assert.equal(password(read), 'hunter2');
  await off.api.call('PUT', `${SECRETS}/s`, { body: read.body });
  assert.ok(!isSealed(await rawOf(base)));
});

test('a server with an unavailable plugin starts, is not ready, and serves everything when the plugin is available', async () => {
  const plugin = await pluginThat('listens');
  const base = createMemoryStore();
  await post(await serverOn(base, kmsOf(plugin)));
  await plugin.leave();
  const server = await serverOn(base, kmsOf(plugin));
  const { api } = server;
  for (const path of ['/readyz', '/healthz/kms-providers', '/readyz/kms-provider-0', '/healthz/kms-provider-0']) {
    assert.equal((await api.call('GET', path)).status, 500, path);
  }
  assert.match(
    String((await api.call('GET', '/readyz?verbose')).body),
    /\[-\]kms-provider-0 failed: KMS provider "vault": Status at \S+kms\.sock: /,
  );
  assert.equal((await api.call('GET', '/livez')).status, 200);
  const refused = await post(server, 'other');
  assert.deepEqual([refused.status, refused.at('reason')], [500, 'InternalError']);
  assert.match(
    refused.textAt('message'),
    /^Internal error occurred: unable to encrypt key "\/registry\/secrets\/default\/other": key "vault": there is no key yet: Status at /,
  );
  for (const path of [SECRETS, `${SECRETS}/s`, `${SECRETS}?watch=1`]) {
    assert.equal((await api.call('GET', path)).status, 500, path);
  }
  assert.equal((await api.call('GET', '/api/v1/namespaces/default/configmaps')).status, 200, 'others are served');
  await plugin.listen();
  await pass(server, RETRY_MS);
  await eventually(async () => (await api.call('GET', '/readyz')).status === 200, 'the server is ready');
  assert.deepEqual((await api.call('GET', SECRETS)).names(), ['s']);
  assert.equal((await post(server, 'other')).status, 201);
  assert.deepEqual((await api.call('GET', SECRETS)).names(), ['other', 's']);
});

test('while the plugin is unavailable, known seeds decrypt, and writes continue for 3 minutes after the last good status', async () => {
  const plugin = await pluginThat('listens');
  const base = createMemoryStore();
  const server = await serverOn(base, kmsOf(plugin));
  const { api } = server;
  await post(server);
  await post(server, 'gone');
  await plugin.leave();
  await pass(server, 3 * 60_000 - 1);
  assert.equal((await api.call('GET', '/readyz')).status, 500);
  assert.equal((await post(server, 'late')).status, 201);
  await pass(server, 1);
  const refused = await post(server, 'too-late');
  assert.equal(refused.status, 500);
  assert.match(refused.textAt('message'), /the plugin had no good status for 3 minutes/);
  assert.equal((await api.call('PATCH', `${SECRETS}/s`, { body: { metadata: { labels: { a: 'b' } } } })).status, 500);
  assert.equal(password(await api.call('GET', `${SECRETS}/s`)), 'hunter2');
  assert.equal((await api.call('DELETE', `${SECRETS}/gone`)).status, 200);
  assert.deepEqual((await api.call('GET', SECRETS)).names(), ['late', 's']);
  await plugin.listen();
  await pass(server, RETRY_MS);
  assert.equal((await post(server, 'again')).status, 201);
  assert.equal(plugin.count('Encrypt'), 1, 'the seed is still the same');
});

test('an object written while the plugin was unavailable is in every list as soon as the plugin is back', async () => {
  const plugin = await pluginThat('listens');
  const away = await pluginThat('listens');
  const base = createMemoryStore();
  const reader = await serverOn(base, kmsOf(away));
  await post(reader, 'known');
  const { api } = reader;
  const seen = (await api.call('GET', SECRETS)).textAt('metadata.resourceVersion');
  await away.leave();
  const writer = await serverOn(base, kmsOf(plugin));
  for (const [name, comesBackBy] of [
    ['found-by-poll', 'poll'],
    ['found-by-read', 'read'],
  ] as const) {
    // Each has a seed that the reader has never seen.
    plugin.keyId = `key-of-${name}`;
    await pass(writer, POLL_MS);
    assert.equal((await post(writer, name)).status, 201);
    await eventually(async () => (await api.call('GET', SECRETS)).status === 500, 'the list is refused');
    assert.equal((await api.call('GET', `${SECRETS}?watch=1&resourceVersion=${seen}`)).status, 500);
    assert.equal((await api.call('GET', `${SECRETS}/${name}`)).status, 500);
    assert.equal((await api.call('GET', `${SECRETS}/known`)).status, 200);
    await away.listen();
    if (comesBackBy === 'read') await reader.store.get(`core/secrets/default/${name}`);
    else await pass(reader, RETRY_MS);
    await eventually(async () => (await api.call('GET', SECRETS)).status === 200, 'the list is whole again');
    assert.ok((await api.call('GET', SECRETS)).names().includes(name), name);
    const resumed = await api.call('GET', `${SECRETS}?watch=1&resourceVersion=${seen}`);
    const first = resumed.raw.body.kind === 'watch' ? await firstType(resumed) : resumed.at('code');
    assert.ok(first === 'ERROR' || first === 410, 'a watch of before would miss the object, so it begins again');
    assert.equal(password(await api.call('GET', `${SECRETS}/${name}`)), 'hunter2');
    await away.leave();
  }
});

/** The answer of a call that must end by its deadline on the virtual clock. It fails when the call goes on. */
async function ended<T>(call: Promise<T>, what: string): Promise<T> {
  let isOver = false;
  const over = call.finally(() => {
    isOver = true;
  });
  over.catch(() => {});
  await eventually(() => isOver, what, { deadlineMs: 10_000 });
  return over;
}

async function firstType({ raw: { body } }: Answer): Promise<string | undefined> {
  if (body.kind !== 'watch') return undefined;
  for await (const frame of body.frames) return frame.value().type;
  return undefined;
}

test('invalid status answers are problems', async () => {
  const plugin = await pluginThat('listens');
  const sealing = await sealingOn(createMemoryStore(), kmsOf(plugin));
  const { provider } = sealing;
  assert.deepEqual(provider.problems(), []);
  const cases: readonly (readonly [Buffer, RegExp])[] = [
    [statusMessage('v1', 'ok', 'a'), /its version is "v1", not "v2"/],
    [statusMessage('v2', 'sealed', 'a'), /its healthz is "sealed", not "ok"/],
    [statusMessage('v2', 'ok', ''), /its answer has no key_id/],
    [statusMessage('v2', 'ok', 'x'.repeat(1_025)), /its key_id has 1025 bytes; 1024 are allowed/],
    [Buffer.from([0x0a, 0x7f]), /the message ends too early/],
  ];
  for (const [answer, problem] of cases) {
    plugin.answers.set('Status', answer);
    await pass(sealing, POLL_MS);
    assert.match(provider.problems().join(), problem);
  }
  // The bytes of another implementation: version v2beta1, healthz ok, key_id a.
  plugin.answers.set('Status', Buffer.from('0a0776326265746131' + '12026f6b' + '1a0161', 'hex'));
  await pass(sealing, RETRY_MS);
  assert.deepEqual(provider.problems(), []);
});

test('invalid Encrypt answers are problems, and no seed is taken', async () => {
  const plugin = await pluginThat('listens');
  const answerOf = (ciphertext: number, keyId: string, annotations: ReadonlyMap<string, Buffer> = new Map()): Buffer =>
    encodeFields([
      [1, Buffer.alloc(ciphertext, 1)],
      [2, keyId],
      [3, annotations],
    ]);
  const cases: readonly (readonly [Buffer, RegExp])[] = [
    [answerOf(32, ''), /its answer has no key_id/],
    [answerOf(32, 'x'.repeat(1_025)), /its key_id has 1025 bytes/],
    [answerOf(0, 'a'), /its answer has no ciphertext/],
    [answerOf(1_025, 'a'), /its ciphertext has 1025 bytes; 1024 are allowed/],
    [answerOf(32, 'a', new Map([['a.b', Buffer.alloc(32 * 1024)]])), /its annotations have 32771 bytes/],
    [answerOf(32, 'a', new Map([['plain', Buffer.from('1')]])), /its annotation "plain" is not named by a full domain/],
    [answerOf(300 * 1024, 'a'), /the answer is too large/],
  ];
  for (const [answer, problem] of cases) {
    plugin.answers.set('Encrypt', answer);
    const { provider } = await sealingOn(createMemoryStore(), kmsOf(plugin));
    assert.match(provider.problems().join(), problem);
    assert.throws(() => provider.seal(Buffer.from('a'), KEY, 'create'), /there is no key yet/);
  }
});

test('invalid Decrypt answers make the object unreadable', async () => {
  const plugin = await pluginThat('listens');
  const base = createMemoryStore();
  const writer = await sealingOn(base, kmsOf(plugin));
  await writer.store.write([{ kind: 'create', key: KEY, value: '{}' }]);
  const reader = await sealingOn(base, kmsOf(plugin));
  plugin.answers.set('Decrypt', encodeFields([[1, Buffer.alloc(31)]]));
  await assert.rejects(reader.store.get(KEY), /unable to transform key .* Decrypt returned 31 bytes, and not 32/);
  plugin.answers.set('Decrypt', encodeFields([[1, Buffer.alloc(32)]]));
  await assert.rejects(reader.store.get(KEY), /the key does not fit, or the data were changed/);
  plugin.answers.clear();
  const other = await sealingOn(base, kmsOf(plugin));
  plugin.annotations = new Map();
  await assert.rejects(other.store.get(KEY), /Decrypt at \S+ failed with grpc status 5: unknown key/);
});

test('a plugin that hangs fails at the timeout, and is not called again before its status is good', async () => {
  const plugin = await pluginThat('listens');
  const base = createMemoryStore();
  const writer = await sealingOn(base, kmsOf(plugin));
  await writer.store.write([{ kind: 'create', key: KEY, value: '{}' }]);
  const { store, clock } = await sealingOn(base, kmsOf(plugin));
  plugin.isHung = true;
  const failing = assert.rejects(store.get(KEY), /Decrypt: \S+ did not answer within 3 s/);
  await eventually(async () => plugin.count('Decrypt') === 1, 'the plugin is asked');
  await clock.advance(TIMEOUT_MS);
  await ended(failing, 'the read ends at the timeout');
  await assert.rejects(ended(store.get(KEY), 'the plugin is not asked again'), /did not answer within 3 s/);
  assert.equal(plugin.count('Decrypt'), 1);
  plugin.isHung = false;
  await clock.advance(RETRY_MS);
  await eventually(async () => (await store.get(KEY).catch(() => undefined)) !== undefined, 'it is read');
});

test('the change feed waits 1 s for a hanging plugin, once, and then continues without the object', async () => {
  const plugin = await pluginThat('listens');
  const base = createMemoryStore();
  const reader = await serverOn(base, kmsOf(plugin));
  const { api, clock } = reader;
  const watch = await api.call('GET', '/api/v1/namespaces/default/configmaps?watch=1');
  const seen = watch.raw.body.kind === 'watch' ? watch.raw.body.frames[Symbol.asyncIterator]() : assert.fail();
  const writer = await sealingOn(base, kmsOf(plugin));
  plugin.isHung = true;
  await writer.store.write([{ kind: 'create', key: KEY, value: secretNamed('s') }]);
  await writer.store.write([{ kind: 'create', key: 'core/configmaps/default/a', value: configMapNamed('a') }]);
  await eventually(() => plugin.count('Decrypt') === 1, 'the plugin is asked');
  const first = seen.next();
  await clock.advance(KMS_FEED_WAIT_MS);
  assert.equal((await ended(first, 'the feed goes on')).value?.value().object.metadata.name, 'a');
  assert.equal((await api.call('GET', SECRETS)).status, 500, 'a list never leaves the object out');
  // The call is still under way: the next change of the seed costs no second.
  await writer.store.write([{ kind: 'create', key: `${KEY}2`, value: secretNamed('s2') }]);
  await writer.store.write([{ kind: 'create', key: 'core/configmaps/default/b', value: configMapNamed('b') }]);
  assert.equal((await ended(seen.next(), 'the feed does not wait')).value?.value().object.metadata.name, 'b');
  await seen.return?.();
  plugin.isHung = false;
  await clock.advance(TIMEOUT_MS);
  await pass(reader, RETRY_MS);
  await eventually(async () => (await api.call('GET', SECRETS)).status === 200, 'the list is whole again');
  assert.deepEqual((await api.call('GET', SECRETS)).names(), ['s', 's2']);
});

const objectNamed = (kind: string, name: string): string =>
  JSON.stringify({ kind, apiVersion: 'v1', metadata: { name, namespace: 'default', uid: name } });
const secretNamed = (name: string): string => objectNamed('Secret', name);
const configMapNamed = (name: string): string => objectNamed('ConfigMap', name);

test('a start with a hanging plugin continues after the timeout', async () => {
  const plugin = await pluginThat('listens');
  plugin.isHung = true;
  const clock = createVirtualClock();
  const [provider = assert.fail()] = readWith(clock, kmsOf(plugin)).kms;
  cleanups.push(() => provider.stop());
  const starting = provider.start();
  await eventually(async () => plugin.count('Status') === 1, 'the plugin is asked');
  await clock.advance(TIMEOUT_MS);
  await ended(starting, 'the start ends at the timeout');
  assert.match(provider.problems().join(), /Status: \S+ did not answer within 3 s/);
});

test('two providers with one name are refused', async () => {
  const plugin = await pluginThat('is away');
  const { mistakes } = readWith(createVirtualClock(), kmsOf(plugin), kmsOf(plugin), kmsOf(plugin, 'other'));
  assert.deepEqual(mistakes, ['resources[0].providers[1].kms.name: there is another kms provider of this name']);
});
