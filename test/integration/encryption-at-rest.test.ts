import { strict as assert } from 'node:assert';
import { mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { type TestContext, test } from 'node:test';
import { createApiServer } from '@holdfast/apiserver';
import { openEncryption } from '@holdfast/apiserver/encryption';
import type { ApiRequest, ApiResponse } from '@holdfast/client';
import { createIds, createSilentLog, createSystemClock, createSystemRandom } from '@holdfast/platform';
import type { Store } from '@holdfast/store';
import { createRedisStore } from '@holdfast/store/redis';
import { createSqliteStore } from '@holdfast/store/sqlite';
import { Redis } from 'ioredis';
import { startRedis } from '../support/redis-server.ts';

const machine = { clock: createSystemClock(), ids: createIds(createSystemRandom()), log: createSilentLog() };
const SECRETS = '/api/v1/namespaces/default/secrets';
const WORDS = 'correct-horse-battery-staple';
const CLEAR = 'this-map-is-not-encrypted';

async function temporaryFolder(t: TestContext): Promise<string> {
  const folder = await mkdtemp(path.join(tmpdir(), 'holdfast-at-rest-'));
  t.after(() => rm(folder, { recursive: true, force: true }));
  return folder;
}

async function encryption(folder: string): Promise<(store: Store) => Store> {
  const file = path.join(folder, 'encryption.yaml');
  const secret = Buffer.alloc(32, 5).toString('base64');
  await writeFile(
    file,
    `apiVersion: apiserver.config.k8s.io/v1
kind: EncryptionConfiguration
resources:
- resources: [secrets]
  providers:
  - secretbox: {keys: [{name: key1, secret: ${secret}}]}
  - identity: {}
`,
    { mode: 0o600 },
  );
  return (await openEncryption(file, machine)).around;
}

const send = (method: ApiRequest['method'], url: string, body?: object): ApiRequest => ({
  method,
  path: url,
  query: new URLSearchParams(),
  headers: {
    authorization: 'Bearer admin',
    'content-type': method === 'PATCH' ? 'application/merge-patch+json' : 'application/json',
  },
  ...(body === undefined ? {} : { body: JSON.stringify(body) }),
});

/** Creates, changes, reads and deletes secrets on this store, beside an object that is not encrypted. */
async function useSecrets(store: Store): Promise<void> {
  const tokens = new Map([['admin', { name: 'admin', uid: 'admin', groups: ['system:masters'] }]]);
  const api = createApiServer({ ...machine, store, tokens });
  await api.start();
  const call = (...request: Parameters<typeof send>): Promise<ApiResponse> => api.handle(send(...request));
  for (const name of ['kept', 'gone']) {
    const made = await call('POST', SECRETS, { metadata: { name }, stringData: { password: WORDS } });
    assert.equal(made.status, 201);
  }
  await call('POST', '/api/v1/namespaces/default/configmaps', { metadata: { name: 'clear' }, data: { text: CLEAR } });
  assert.equal((await call('PATCH', `${SECRETS}/kept`, { metadata: { labels: { a: 'b' } } })).status, 200);
  assert.equal((await call('DELETE', `${SECRETS}/gone`)).status, 200);
  const read = await call('GET', `${SECRETS}/kept`);
  assert.ok(read.body.kind === 'json');
  const { data } = read.body.value() as { data: { password: string } };
  assert.equal(Buffer.from(data.password, 'base64').toString(), WORDS);
  await api.stop();
}

/** Asserts that no file of the folder contains the text in any encoding. */
async function assertNothingShown(folder: string): Promise<void> {
  const names = (await readdir(folder, { recursive: true, withFileTypes: true })).filter((each) => each.isFile());
  const files = await Promise.all(names.map((each) => readFile(path.join(each.parentPath, each.name))));
  assert.ok(
    files.some((file) => file.includes(CLEAR)),
    'the objects are in these files',
  );
  for (const [i, file] of files.entries()) {
    for (const form of [WORDS, Buffer.from(WORDS).toString('base64')]) {
      assert.ok(!file.includes(form), `${names[i]?.name} holds the secret`);
    }
  }
}

test('the files of SQLite show no secret: neither the database nor its log', async (t) => {
  const folder = await temporaryFolder(t);
  const seal = await encryption(folder);
  const directory = path.join(folder, 'store');
  const store = await createSqliteStore({ directory, ...machine });
  await useSecrets(seal(store));
  await assertNothingShown(directory);
  await store.close();
  await assertNothingShown(directory);
});

test('the files of Redis show no secret: neither its append-only files nor a dump', async (t) => {
  const folder = await temporaryFolder(t);
  const seal = await encryption(folder);
  const server = await startRedis({ rdbcompression: 'no' });
  t.after(() => server.stop());
  const store = await createRedisStore({ url: server.url, ...machine });
  t.after(() => store.close());
  await useSecrets(seal(store));
  const admin = new Redis(server.url);
  await admin.save();
  admin.disconnect();
  assert.ok((await readdir(server.directory)).includes('dump.rdb'));
  await assertNothingShown(server.directory);
});

test('without encryption the same files show the secret', async (t) => {
  const directory = path.join(await temporaryFolder(t), 'store');
  const store = await createSqliteStore({ directory, ...machine });
  await useSecrets(store);
  await store.close();
  await assert.rejects(assertNothingShown(directory), /holds the secret/);
});
