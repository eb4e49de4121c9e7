import assert from 'node:assert/strict';
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { eventually } from '@holdfast/bus/contract';
import { redisConfig } from '@holdfast/holdfast/setup';
import { createClusterPki } from '@holdfast/pki/cluster-pki';
import { createIds, createSilentLog, createSystemClock, createSystemRandom } from '@holdfast/platform';
import { adoptRedisStore, createRedisStore, restoreRedisStore } from '@holdfast/store/redis';
import { Redis } from 'ioredis';
import { freePort } from '../support/free-port.ts';

const PASSWORD = 'a-password';
const OPERATOR_PASSWORD = 'another-password';
const HEALTH = { username: 'health', password: 'none' };

interface ConfiguredRedis extends AsyncDisposable {
  readonly port: number;
  readonly tls: { readonly ca: string };
  /** SIGKILL, and start again. */
  crash(): Promise<void>;
}

/** A redis-server with the configuration that the distributed form gives it. */
async function startConfiguredRedis(): Promise<ConfiguredRedis> {
  const directory = await mkdtemp(join(tmpdir(), 'holdfast-redis-'));
  const port = await freePort();
  const file = join(directory, 'redis.conf');
  const pki = await createClusterPki(
    { dnsNames: ['localhost'], ipAddresses: ['127.0.0.1'] },
    createSystemClock().now(),
  );
  const [caFile, certFile, keyFile] = ['ca.crt', 'server.crt', 'server.key'].map((name) => join(directory, name));
  assert.ok(caFile !== undefined && certFile !== undefined && keyFile !== undefined);
  await writeFile(caFile, pki.caCertificate);
  await writeFile(certFile, pki.serverCertificate);
  await writeFile(keyFile, pki.serverKey);
  const tls = { caFile, certFile, keyFile };
  await writeFile(file, redisConfig({ port, directory, password: PASSWORD, operatorPassword: OPERATOR_PASSWORD, tls }));
  const ca = pki.caCertificate;
  const start = async (): Promise<ChildProcess> => {
    const child = spawn('redis-server', [file], { stdio: 'ignore' });
    await answersPing(child, port, ca);
    return child;
  };
  let child = await start();
  const kill = async (): Promise<void> => {
    const ended = once(child, 'exit');
    child.kill('SIGKILL');
    await ended;
  };
  return {
    port,
    tls: { ca },
    crash: async () => {
      await kill();
      child = await start();
    },
    [Symbol.asyncDispose]: async () => {
      await kill();
      // A rewrite of its file is a process of its own, and may make a file meanwhile.
      await rm(directory, { recursive: true, force: true, maxRetries: 10 });
    },
  };
}

async function answersPing(child: ChildProcess, port: number, ca: string): Promise<void> {
  let failure: Error | undefined;
  child.once('error', (error) => {
    failure = error;
  });
  const options = { ...HEALTH, port, tls: { ca }, host: '127.0.0.1', lazyConnect: true, enableReadyCheck: false };
  const probe = new Redis({ ...options, retryStrategy: () => 20 });
  probe.on('error', () => {});
  void probe.connect().catch(() => undefined);
  try {
    await eventually(async () => {
      if (failure !== undefined) {
        throw new Error('redis-server cannot be started: install it (Debian and Ubuntu: apt-get install redis-server)');
      }
      return probe.status === 'ready' && (await probe.ping()) === 'PONG';
    }, 'redis-server answers');
  } finally {
    probe.disconnect();
  }
}

test('the store accepts the generated configuration and works with the permissions in it', async () => {
  await using server = await startConfiguredRedis();
  const store = await createRedisStore({
    url: `rediss://apiserver:${PASSWORD}@127.0.0.1:${server.port}`,
    tls: server.tls,
    clock: createSystemClock(),
    ids: createIds(createSystemRandom()),
    log: createSilentLog(),
  });
  try {
    const key = 'core/pods/ns/p';
    const created = await store.write([{ kind: 'create', key, value: '{}' }]);
    assert.equal(created.outcome, 'committed');
    assert.equal((await store.get(key)).object?.value, '{}');
    assert.equal((await store.list('core/pods/')).objects.length, 1);
    assert.equal((await store.list('')).objects.length, 1);
    await store.compact(1);
    await store.maintain();
    assert.deepEqual(await store.health(), []);
    const abort = new AbortController();
    await store.write([{ kind: 'update', key, value: '{"a":1}', expectedRevision: 1 }]);
    for await (const changes of store.changes({ after: 1, signal: abort.signal })) {
      assert.equal(changes[0]?.revision, 2);
      abort.abort();
    }
  } finally {
    await store.close();
  }
});

test('a backup is restored and a halted store adopted with the rights of API servers, as docs/recovery.md says', async () => {
  await using server = await startConfiguredRedis();
  const url = `rediss://apiserver:${PASSWORD}@127.0.0.1:${server.port}`;
  const machine = { clock: createSystemClock(), ids: createIds(createSystemRandom()), log: createSilentLog() };
  const access = { ...machine, url, tls: server.tls };
  const objects = [{ key: 'core/pods/ns/p', value: '{}', revision: 4, createRevision: 4 }];
  const restored = await restoreRedisStore(access, 'a new one', { objects, revision: 5 });
  await assert.rejects(restoreRedisStore(access, 'another', { objects, revision: 5 }), { code: 'STORE_NOT_EMPTY' });
  const adopted = await adoptRedisStore(access);
  assert.ok(restored > 5 && adopted > restored);
  const store = await createRedisStore(access);
  assert.deepEqual((await store.list('')).objects, objects);
  await store.close();
});

const FORBIDDEN: readonly (readonly [string, ...string[]])[] = [
  ['SET', 'elsewhere', '1'],
  ['CONFIG', 'SET', 'appendfsync', 'no'],
  ['FLUSHALL'],
  ['FLUSHDB'],
  ['DEBUG', 'SLEEP', '0'],
  ['REPLICAOF', 'NO', 'ONE'],
  ['SWAPDB', '0', '1'],
  ['SCRIPT', 'FLUSH'],
  ['SHUTDOWN', 'NOSAVE'],
  ['ACL', 'SETUSER', 'default', '+@all'],
  ['KEYS', '*'],
];

test('apiservers cannot weaken the server, health checks can only ping, unauthenticated clients can do nothing', async () => {
  await using server = await startConfiguredRedis();
  const base = { port: server.port, tls: server.tls, host: '127.0.0.1', enableReadyCheck: false } as const;
  const apiserver = new Redis({ ...base, username: 'apiserver', password: PASSWORD });
  const stranger = new Redis(base);
  // Its greeting is refused already.
  stranger.on('error', () => {});
  const health = new Redis({ ...base, ...HEALTH });
  try {
    for (const [command, ...rest] of FORBIDDEN) {
      await assert.rejects(apiserver.call(command, ...rest), /NOPERM|command not allowed/, command);
    }
    await assert.rejects(stranger.get('{k8s}:m'), /NOAUTH/);
    assert.equal(await health.ping(), 'PONG');
    await assert.rejects(health.get('{k8s}:m'), /NOPERM/);
    await assert.rejects(health.info(), /NOPERM/);
  } finally {
    apiserver.disconnect();
    stranger.disconnect();
    health.disconnect();
  }
});

test('[TEST-03] writes acknowledged with these permissions survive a kill of the server', async () => {
  await using server = await startConfiguredRedis();
  const open = () =>
    createRedisStore({
      url: `rediss://apiserver:${PASSWORD}@127.0.0.1:${server.port}`,
      tls: server.tls,
      clock: createSystemClock(),
      ids: createIds(createSystemRandom()),
      log: createSilentLog(),
    });
  const before = await open();
  for (let i = 1; i <= 20; i++) await before.write([{ kind: 'create', key: `core/pods/ns/p${i}`, value: '{}' }]);
  await before.close();
  await server.crash();
  const after = await open();
  try {
    assert.equal(await after.currentRevision(), 20);
    assert.equal((await after.list('core/pods/')).objects.length, 20);
  } finally {
    await after.close();
  }
});
