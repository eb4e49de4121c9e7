import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { once } from 'node:events';
import { createServer, type Server } from 'node:net';
import path from 'node:path';
import { test } from 'node:test';
import { createApiServer } from '@holdfast/apiserver';
import { createIds, createSilentLog, createSystemClock, createSystemRandom, invariant } from '@holdfast/platform';
import { healthServers, type Problems } from '@holdfast/platform/health-server';
import { createRedisStore } from '@holdfast/store/redis';
import { startRedis } from '../support/redis-server.ts';
import { waitFor } from '../support/wait.ts';

const PROBE = path.resolve(import.meta.dirname, '../../services/holdfast/src/health-probe.sh');

interface Probed {
  readonly code: number | null;
  readonly says: string;
}

function probe(port: number): Promise<Probed> {
  return new Promise((resolve) => {
    const child = execFile('bash', [PROBE, String(port)], (_error, stdout) =>
      resolve({ code: child.exitCode, says: stdout }),
    );
  });
}

async function serve(problems: Problems): Promise<{ readonly port: number; readonly stop: () => Promise<void> }> {
  const port = await freePort();
  const [server] = healthServers('test', `127.0.0.1:${port}`, problems);
  invariant(server !== undefined, 'an address makes a server');
  await server.start();
  return { port, stop: () => server.stop() };
}

async function listening(server: Server): Promise<number> {
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const address = server.address();
  invariant(typeof address === 'object' && address !== null, 'a listening server has an address');
  return address.port;
}

async function freePort(): Promise<number> {
  const server = createServer();
  const port = await listening(server);
  server.close();
  await once(server, 'close');
  return port;
}

test('the health check of a container passes while the process is healthy, and otherwise shows the failed checks', async (t) => {
  let problems: readonly string[] = [];
  const { port, stop } = await serve(() => problems);
  assert.equal((await probe(port)).code, 0);
  problems = ['one thing', 'another'];
  const failed = await probe(port);
  assert.equal(failed.code, 1);
  assert.match(failed.says, /one thing\nanother/);
  await stop();
  assert.equal((await probe(port)).code, 1);
  const silent = createServer(() => {});
  t.after(() => silent.close());
  assert.equal((await probe(await listening(silent))).code, 1);
});

test('an API server that is cut from its store is unhealthy until the store is back', async (t) => {
  const redis = await startRedis();
  t.after(() => redis.stop());
  const machine = { clock: createSystemClock(), ids: createIds(createSystemRandom()), log: createSilentLog() };
  const store = await createRedisStore({ url: redis.url, ...machine });
  t.after(() => store.close());
  const api = createApiServer({ store, ...machine, tokens: new Map() });
  await api.start();
  t.after(() => api.stop());
  const { port, stop } = await serve(() => api.health());
  t.after(stop);
  assert.equal((await probe(port)).code, 0);
  redis.pause();
  const cut = await waitFor('the check fails', async () => {
    const found = await probe(port);
    return found.code === 1 && found;
  });
  assert.match(cut.says, /store|changes cannot be read/);
  redis.resume();
  await waitFor('the check passes again', async () => (await probe(port)).code === 0);
});
