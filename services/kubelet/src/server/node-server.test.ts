import assert from 'node:assert/strict';
import { request } from 'node:https';
import { type TestContext, test } from 'node:test';
import type { ApiHandler } from '@holdfast/client';
import { createTestCertificate, serialAt, serialOf } from '@holdfast/client/testing';
import { createSilentLog } from '@holdfast/platform';
import { createNodeApi } from './node-api.ts';
import { createNodeServer } from './node-server.ts';

const log = createSilentLog();
const unused = (): never => {
  throw new Error('nobody asks for this');
};

const nodeApi = createNodeApi({
  log,
  logs: unused,
  pods: () => [],
  pod: () => undefined,
  runtime: unused as never,
  clock: unused as never,
});

/** The status of each path, requested one after the other. */
async function ask(t: TestContext, handle: ApiHandler, paths: readonly string[]): Promise<readonly number[]> {
  const { certPem, keyPem } = createTestCertificate();
  const tls = { certificate: certPem, key: keyPem, clientCa: certPem };
  const server = createNodeServer({ handle, access: async () => {}, log, host: '127.0.0.1', port: 0, tls });
  await server.start();
  t.after(() => server.stop());
  const statuses: number[] = [];
  for (const path of paths) {
    const options = { host: '127.0.0.1', port: server.port(), path, ca: certPem, agent: false as const };
    statuses.push(
      await new Promise<number>((resolve, reject) => {
        request(options, (response) => resolve(response.resume().statusCode ?? 0))
          .once('error', reject)
          .end();
      }),
    );
  }
  return statuses;
}

const INHERITED = Object.getOwnPropertyNames(Object.prototype);

test('a path named like an Object.prototype member is not found, and the node continues', async (t) => {
  const paths = INHERITED.flatMap((name) => [`/${name}`, `/${name}/a/b/c`]);
  const statuses = await ask(t, nodeApi, [...paths, '/healthz']);
  assert.deepEqual([...new Set(statuses.slice(0, -1))], [404]);
  assert.equal(statuses.at(-1), 200);
});

test('an exception in an answer is 500 for its client, and the node continues', async (t) => {
  const text = (status: number) => ({
    status,
    headers: {},
    body: { kind: 'text' as const, contentType: 'text/plain', text: 'x' },
  });
  const handle: ApiHandler = async ({ path }) => {
    if (path === '/throws') throw new Error('a mistake');
    if (path === '/unwritable') return text(7);
    if (path === '/unencodable') return { ...text(200), body: { kind: 'json', bytes: unused, value: unused } };
    return path === '/shapeless' ? (undefined as never) : text(200);
  };
  const statuses = await ask(t, handle, ['/throws', '/unwritable', '/unencodable', '/shapeless', '/healthz']);
  assert.deepEqual(statuses, [500, 500, 500, 500, 200]);
});

test('a renewed certificate is served to new connections', async (t) => {
  const [first, renewed] = [createTestCertificate(), createTestCertificate()];
  const tls = { certificate: first.certPem, key: first.keyPem, clientCa: first.certPem };
  const server = createNodeServer({ handle: nodeApi, access: async () => {}, log, host: '127.0.0.1', port: 0, tls });
  await server.start();
  t.after(() => server.stop());
  assert.equal(await serialAt(server.port()), serialOf(first));
  server.renew({ certificate: renewed.certPem, key: renewed.keyPem });
  assert.equal(await serialAt(server.port()), serialOf(renewed));
});
