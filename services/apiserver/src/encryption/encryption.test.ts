import assert from 'node:assert/strict';
import { afterEach, test } from 'node:test';
import type { BusMessage } from '@holdfast/bus';
import { createLocalBus } from '@holdfast/bus/local';
import type { Json } from '@holdfast/machinery';
import { createSilentLog, createSystemClock, nextTurn } from '@holdfast/platform';
import { eventually } from '@holdfast/platform/contract';
import { createSealedStore, isSealed, type Store } from '@holdfast/store';
import { changesUpTo } from '@holdfast/store/contract';
import { createMemoryStore } from '@holdfast/store/memory';
import { createRelay } from '../relay/index.ts';
import { type Answer, configMapBody, startTestApi, type TestApi } from '../testing/fixture.ts';
import { type ReadEncryption, readEncryptionConfiguration } from './configuration.ts';
import { PROVIDER_KINDS } from './providers.ts';
import { createSealer } from './sealer.ts';

const SECRETS = '/api/v1/namespaces/default/secrets';
const KEY = 'core/secrets/default/s';

const running: TestApi[] = [];
afterEach(async () => {
  for (const api of running.splice(0)) await api.server.stop();
});

const secretOf = (byte: number): string => Buffer.alloc(32, byte).toString('base64');
const aes = (provider: string, ...bytes: readonly number[]): Json => ({
  [provider]: { keys: bytes.map((byte) => ({ name: `key${byte}`, secret: secretOf(byte) })) },
});
const IDENTITY: Json = { identity: {} };

function configuration(resources: readonly string[], ...providers: readonly Json[]): Json {
  const entry = { resources: [...resources], providers: [...providers] };
  return { apiVersion: 'apiserver.config.k8s.io/v1', kind: 'EncryptionConfiguration', resources: [entry] };
}

/** These configurations name no key management service. */
const read = (config: Json): ReadEncryption => readEncryptionConfiguration(config, () => assert.fail());

/** A server on this store; what it encrypts follows the providers. */
async function serverOn(base: Store, ...providers: readonly Json[]): Promise<TestApi> {
  const { rules, mistakes } = read(configuration(['secrets'], ...providers));
  assert.deepEqual(mistakes, []);
  const api = await startTestApi({ store: createSealedStore(base, createSealer(rules)) });
  running.push(api);
  return api;
}

const post = (api: TestApi, name = 's'): Promise<Answer> =>
  api.call('POST', SECRETS, { body: { metadata: { name }, stringData: { password: 'hunter2' } } });
const rawOf = async (base: Store, key = KEY): Promise<string> => (await base.get(key)).object?.value ?? '';
const password = (answer: Answer): string => Buffer.from(answer.textAt('data.password'), 'base64').toString();

for (const { name } of PROVIDER_KINDS) {
  test(`${name}: stored data reveal nothing, and every read returns everything`, async () => {
    const base = createMemoryStore();
    const api = await serverOn(base, aes(name, 1), IDENTITY);
    assert.equal((await post(api)).status, 201);
    const raw = await rawOf(base);
    assert.match(raw, new RegExp(`^k8s:enc:${name}:v1:key1:[A-Za-z0-9+/=]+$`));
    assert.ok(!raw.includes(Buffer.from('hunter2').toString('base64')));
    assert.equal(password(await api.call('GET', `${SECRETS}/s`)), 'hunter2');
    assert.deepEqual((await api.call('GET', SECRETS)).names(), ['s']);
    await api.call('PATCH', `${SECRETS}/s`, { body: { metadata: { labels: { a: 'b' } } } });
    assert.ok(isSealed(await rawOf(base)));
    const [added, modified] = await api.watch(`${SECRETS}?watch=1&resourceVersion=1`, 2);
    assert.deepEqual([added?.type, modified?.type], ['ADDED', 'MODIFIED']);
    // A server that starts reads what the other has written.
    const next = await serverOn(base, aes(name, 1));
    assert.equal(password(await next.call('GET', `${SECRETS}/s`)), 'hunter2');
    assert.equal((await next.call('DELETE', `${SECRETS}/s`)).status, 200);
    assert.equal((await next.call('GET', `${SECRETS}/s`)).status, 404);
    const changes = await changesUpTo(base, 0, await base.currentRevision());
    assert.equal(changes.filter(({ key }) => key === KEY).length, 3);
    for (const { key, value } of changes) assert.equal(isSealed(value), key === KEY, key);
  });

  test(`${name}: data sealed for one object do not open as another, nor after a bit flip`, () => {
    const kind = PROVIDER_KINDS.find((each) => each.name === name) ?? assert.fail();
    const key = kind.keyOf('k', Buffer.alloc(32, 7));
    const sealed = key.seal(Buffer.from('{"a":1}'), 'core/secrets/ns/a');
    assert.equal(key.open(sealed, 'core/secrets/ns/a').toString(), '{"a":1}');
    const refusal = /the key does not fit, or the data were changed/;
    assert.throws(() => key.open(sealed, 'core/secrets/ns/b'), refusal);
    assert.throws(() => kind.keyOf('k', Buffer.alloc(32, 8)).open(sealed, 'core/secrets/ns/a'), refusal);
    for (let at = 0; at < sealed.length; at++) {
      const changed = Buffer.from(sealed);
      changed[at] = (changed[at] ?? 0) ^ 1;
      assert.throws(() => key.open(changed, 'core/secrets/ns/a'), refusal, `byte ${at}`);
    }
    for (let length = 0; length < sealed.length; length++) {
      assert.throws(() => key.open(sealed.subarray(0, length), 'core/secrets/ns/a'), refusal, `length ${length}`);
    }
  });
}

test('keys rotate: the first encrypts, all decrypt, and an update without changes re-encrypts', async () => {
  const base = createMemoryStore();
  const plain = await serverOn(base, IDENTITY);
  await post(plain);
  assert.ok(!isSealed(await rawOf(base)));
  const steps = [
    { providers: [aes('aescbc', 1), IDENTITY], begins: 'k8s:enc:aescbc:v1:key1:' },
    { providers: [aes('aescbc', 2, 1)], begins: 'k8s:enc:aescbc:v1:key2:' },
    { providers: [aes('secretbox', 3), aes('aescbc', 2)], begins: 'k8s:enc:secretbox:v1:key3:' },
    { providers: [IDENTITY, aes('secretbox', 3)], begins: '{' },
  ];
  for (const { providers, begins } of steps) {
    const api = await serverOn(base, ...providers);
    const read = await api.call('GET', `${SECRETS}/s`);
    const replaced = await api.call('PUT', `${SECRETS}/s`, { body: read.body });
    assert.equal(replaced.status, 200);
    assert.ok((await rawOf(base)).startsWith(begins), begins);
    assert.notEqual(replaced.at('metadata.resourceVersion'), read.at('metadata.resourceVersion'));
    const again = await api.call('PUT', `${SECRETS}/s`, { body: replaced.body });
    assert.equal(
      again.at('metadata.resourceVersion'),
      replaced.at('metadata.resourceVersion'),
      'nothing is left to do',
    );
    assert.equal(password(again), 'hunter2');
  }
});

test('of two entries of a provider with a key of the same name, the second one decrypts as well', async () => {
  for (const { name } of PROVIDER_KINDS) {
    const named = (byte: number): Json => ({ [name]: { keys: [{ name: 'key', secret: secretOf(byte) }] } });
    const base = createMemoryStore();
    await post(await serverOn(base, named(1)));
    const api = await serverOn(base, named(2), named(1));
    const read = await api.call('GET', `${SECRETS}/s`);
    assert.equal(password(read), 'hunter2');
    const before = await rawOf(base);
    await api.call('PUT', `${SECRETS}/s`, { body: read.body });
    assert.notEqual(await rawOf(base), before, 'an update without changes re-encrypts');
    assert.equal(password(await (await serverOn(base, named(2))).call('GET', `${SECRETS}/s`)), 'hunter2');
    const neither = await (await serverOn(base, named(3), named(4))).call('GET', `${SECRETS}/s`);
    assert.match(neither.textAt('message'), /: key "key": the key does not fit, or the data were changed/);
  }
});

test('an object that no key decrypts is an error, never absent', async () => {
  const base = createMemoryStore();
  const writer = await serverOn(base, aes('aescbc', 1));
  await post(writer);
  await post(writer, 's-other');
  const wrong = await serverOn(base, { aescbc: { keys: [{ name: 'key1', secret: secretOf(9) }] } });
  const said =
    'Internal error occurred: unable to transform key "/registry/secrets/default/s": key "key1": the key does not fit, or the data were changed';
  const url = `${SECRETS}/s`;
  for (const answer of [
    await wrong.call('GET', url),
    await wrong.call('GET', SECRETS),
    await wrong.call('GET', '/api/v1/secrets'),
    await wrong.call('GET', `${SECRETS}?watch=1`),
    await wrong.call('PATCH', url, { body: { metadata: { labels: { a: 'b' } } } }),
    await wrong.call('PUT', url, { body: { metadata: { name: 's' } } }),
    await wrong.call('DELETE', url),
    await wrong.call('DELETE', SECRETS),
  ]) {
    assert.deepEqual([answer.status, answer.at('reason'), answer.at('message')], [500, 'InternalError', said]);
  }
  assert.equal((await post(wrong)).status, 409);
  assert.equal((await wrong.call('GET', '/api/v1/namespaces/default/configmaps')).status, 200, 'others are served');
  assert.equal((await wrong.call('GET', '/api/v1/namespaces/kube-system/secrets')).status, 200);
  const ready = await wrong.call('GET', '/readyz?verbose');
  assert.equal(ready.status, 500);
  assert.match(
    String(ready.body),
    /\[-\]encryption failed: 2 object\(s\) cannot be decrypted, the first: unable to transform/,
  );
  assert.equal((await wrong.call('GET', '/livez')).status, 200);
  assert.equal(password(await writer.call('GET', url)), 'hunter2', 'nothing was lost');
});

test('watches end at an undecryptable object, and resume when it can be read', async () => {
  const base = createMemoryStore();
  const reader = await serverOn(base, aes('aesgcm', 1));
  await post(reader, 'known');
  const watching = await reader.call('GET', `${SECRETS}?watch=1`);
  assert.ok(watching.raw.body.kind === 'watch');
  const types: string[] = [];
  const ended = (async () => {
    if (watching.raw.body.kind !== 'watch') return;
    for await (const frame of watching.raw.body.frames) types.push(frame.value().type);
  })();
  const writer = await serverOn(base, aes('aesgcm', 2, 1));
  await post(writer);
  await ended;
  assert.ok(!types.includes('MODIFIED'));
  assert.equal((await reader.call('GET', SECRETS)).status, 500);
  assert.equal((await reader.call('GET', `${SECRETS}/known`)).status, 200);
  // A server with the key deletes it.
  await writer.call('DELETE', `${SECRETS}/s`);
  await eventually(async () => (await reader.call('GET', SECRETS)).status === 200, 'the list is whole again');
  assert.deepEqual((await reader.call('GET', SECRETS)).names(), ['known']);
  assert.equal((await reader.call('GET', '/readyz')).status, 200);
});

/** The same store, whose changes arrive when the gate of that moment opens. */
function late(base: Store, gate: () => Promise<void>): Store {
  const changes: Store['changes'] = async function* (options) {
    for await (const some of base.changes(options)) {
      await gate();
      yield some;
    }
  };
  return new Proxy(base, {
    get: (target, name) => {
      if (name === 'changes') return changes;
      const value: unknown = Reflect.get(target, name);
      return typeof value === 'function' ? value.bind(target) : value;
    },
  });
}

test('no decision uses the previous state of an object that became undecryptable', async () => {
  const base = createMemoryStore();
  const server = await serverOn(base, aes('aesgcm', 1));
  await post(server);
  const admission = '/apis/admissionregistration.k8s.io/v1';
  const resourceRules = [{ operations: ['CREATE'], apiGroups: [''], apiVersions: ['v1'], resources: ['configmaps'] }];
  const spec = {
    paramKind: { apiVersion: 'v1', kind: 'Secret' },
    matchConstraints: { resourceRules },
    validations: [{ expression: 'params.data.size() > 0' }],
  };
  await server.call('POST', `${admission}/validatingadmissionpolicies`, { body: { metadata: { name: 'p' }, spec } });
  for (const [name, ref] of [
    ['named', { name: 's', namespace: 'default' }],
    ['selected', { selector: {}, namespace: 'default' }],
  ] as const) {
    const paramRef = { ...ref, parameterNotFoundAction: 'Allow' };
    const binding = { policyName: 'p', validationActions: ['Deny'], paramRef };
    const body = { metadata: { name }, spec: binding };
    await server.call('POST', `${admission}/validatingadmissionpolicybindings`, { body });
    await server.call('GET', `${admission}/validatingadmissionpolicybindings`);
    const create = (of: string) =>
      server.call('POST', '/api/v1/namespaces/default/configmaps', { body: { metadata: { name: of } } });
    assert.equal((await create(`${name}-before`)).status, 201);
    const writer = await serverOn(base, aes('aesgcm', 2, 1));
    const changed = await writer.call('PATCH', `${SECRETS}/s`, { body: { stringData: { more: name } } });
    assert.equal(changed.status, 200);
    await eventually(async () => (await server.call('GET', SECRETS)).status === 500, 'the change has come');
    const refused = await create(`${name}-after`);
    assert.equal(refused.status, 500, JSON.stringify(refused.body));
    assert.match(refused.textAt('message'), /unable to transform key/);
    // Written with the key that both have, it can be read again.
    const back = await serverOn(base, aes('aesgcm', 1, 2));
    await back.call('PATCH', `${SECRETS}/s`, { body: { stringData: { more: `${name}-again` } } });
    await eventually(async () => (await server.call('GET', SECRETS)).status === 200, 'the list is whole again');
    await server.call('DELETE', `${admission}/validatingadmissionpolicybindings/${name}`);
    await server.call('GET', `${admission}/validatingadmissionpolicybindings`);
  }
});

test('a list or watch that waits for an undecryptable change is refused', async () => {
  const base = createMemoryStore();
  const writer = await serverOn(base, aes('aesgcm', 2));
  let gate = Promise.resolve();
  const reader = await serverOn(
    late(base, () => gate),
    aes('aesgcm', 1),
  );
  for (const path of [SECRETS, `${SECRETS}?watch=1`, '/api/v1/secrets']) {
    const opened = Promise.withResolvers<void>();
    gate = opened.promise;
    await post(writer);
    const waiting = reader.call('GET', path);
    await nextTurn();
    opened.resolve();
    assert.equal((await waiting).status, 500, path);
    await writer.call('DELETE', `${SECRETS}/s`);
    await eventually(async () => (await reader.call('GET', SECRETS)).status === 200, 'the list is whole again');
  }
});

test('an undecryptable object is an error under each of its names, never absent', async () => {
  const base = createMemoryStore();
  for (const byte of [1, 2]) {
    const { rules } = read(configuration(['events'], aes('aesgcm', byte)));
    const api = await startTestApi({ store: createSealedStore(base, createSealer(rules)) });
    running.push(api);
    const events = '/apis/events.k8s.io/v1/namespaces/default/events';
    if (byte === 1) {
      const involvedObject = { kind: 'Pod', name: 'p', namespace: 'default' };
      const body = { metadata: { name: 'e' }, involvedObject };
      const made = await api.call('POST', '/api/v1/namespaces/default/events', { body });
      assert.equal(made.status, 201, JSON.stringify(made.body));
      assert.deepEqual((await api.call('GET', events)).names(), ['e']);
    } else assert.equal((await api.call('GET', events)).status, 500);
  }
});

test('an unencrypted object is refused unless the provider identity is configured', async () => {
  const base = createMemoryStore();
  await post(await serverOn(base, IDENTITY));
  const strict = await serverOn(base, aes('aesgcm', 1));
  const answer = await strict.call('GET', `${SECRETS}/s`);
  assert.equal(answer.status, 500);
  assert.match(
    answer.textAt('message'),
    /no matching prefix found: it is not encrypted, and the provider identity is not/,
  );
});

test('the bus gets the keys of encrypted objects, never their content', async (t) => {
  const base = createMemoryStore();
  const { rules } = read(configuration(['secrets', 'events', 'persistentvolumeclaims'], aes('aesgcm', 1)));
  const api = await startTestApi({ store: createSealedStore(base, createSealer(rules)) });
  running.push(api);
  const bus = createLocalBus();
  const received: BusMessage[] = [];
  await bus.subscribe('k8s.ev.>', { onMessage: (message) => received.push(message) });
  const relay = createRelay({
    store: base,
    bus,
    clock: createSystemClock(),
    log: createSilentLog(),
    knownState: api.server.knownState,
  });
  await relay.start();
  t.after(() => relay.stop());
  await post(api);
  const claim = {
    metadata: { name: 'hunter2-claim', labels: { say: 'hunter2' } },
    spec: { accessModes: ['ReadWriteOnce'], resources: { requests: { storage: '1Gi' } } },
  };
  const made = await api.call('POST', '/api/v1/namespaces/default/persistentvolumeclaims', { body: claim });
  assert.equal(made.status, 201, JSON.stringify(made.body));
  await api.call('POST', '/api/v1/namespaces/default/configmaps', { body: configMapBody('last') });
  await eventually(async () => received.some(({ subject }) => subject.includes('configmaps')), 'the last has come');
  const claims = received.filter(({ subject }) => subject.includes('persistentvolumeclaims'));
  assert.equal(claims.length, 1);
  for (const message of received) {
    assert.ok(!message.data.replaceAll('hunter2-claim', '').includes('hunter2'), message.data);
    assert.ok(!message.data.includes('k8s:enc'), message.data);
  }
});

test('all errors of a configuration are reported, without a secret', () => {
  const entry = (resources: Json, ...providers: readonly Json[]): Json => ({ resources, providers: [...providers] });
  const { mistakes } = read({
    apiVersion: 'v1',
    kind: 'EncryptionConfiguration',
    resources: [
      entry(['*.*', 'pods'], { kms: { name: 'a', endpoint: 'unix:///run/kms.sock' } }),
      entry(['secrets'], {
        kms: { apiVersion: 'v2', name: 'a:b', endpoint: 'http://kms', timeout: '0s', cachesize: 1 },
      }),
      entry([], { aescbc: { keys: [{ name: 'a:b', secret: secretOf(1) }] } }, { rot13: {} }),
      entry(['secrets'], { secretbox: { keys: [{ name: 'a', secret: Buffer.alloc(16).toString('base64') }] } }),
      entry(['secrets'], { aesgcm: { keys: [{ name: 'a', secret: 'top secret' }] }, identity: {} }),
      entry(['secrets'], { aesgcm: { keys: [] } }),
    ],
  });
  assert.deepEqual(mistakes, [
    'apiVersion: must be apiserver.config.k8s.io/v1',
    'resources[0].resources[0]: wildcards are not supported; name each resource',
    'resources[0].resources[1]: pods cannot be encrypted',
    'resources[0].providers[0].kms.apiVersion: must be v2; KMS v1, the default of Kubernetes, is not supported',
    'resources[1].providers[0].kms.name: must be a text without ":"',
    'resources[1].providers[0].kms.endpoint: must be unix:// and the absolute path of a socket',
    'resources[1].providers[0].kms.timeout: must be a duration above 0, such as 3s',
    'resources[1].providers[0].kms.cachesize: is no field of KMS v2',
    'resources[2].resources: must name at least one resource',
    'resources[2].providers[0].aescbc.keys[0].name: must be a text without ":"',
    'resources[2].providers[1].rot13: unknown provider; use one of identity, kms, aescbc, aesgcm, secretbox',
    'resources[3].providers[0].secretbox.keys[0].secret: has 16 bytes, and secretbox takes 32',
    'resources[4].providers[0]: must hold exactly one provider',
    'resources[5].providers[0].aesgcm.keys: must hold at least one key',
  ]);
});

test('kinds that decide about writes cannot be encrypted: a server without the key would admit everything', () => {
  const mistakesOf = (name: string): readonly string[] =>
    read({
      apiVersion: 'apiserver.config.k8s.io/v1',
      kind: 'EncryptionConfiguration',
      resources: [{ resources: [name], providers: [{ identity: {} }] }],
    }).mistakes;
  for (const name of ['limitranges', 'namespaces', 'validatingwebhookconfigurations.admissionregistration.k8s.io']) {
    assert.deepEqual(mistakesOf(name), [`resources[0].resources[0]: ${name} cannot be encrypted`]);
  }
  assert.deepEqual(mistakesOf('widgets.example.com'), []);
});
