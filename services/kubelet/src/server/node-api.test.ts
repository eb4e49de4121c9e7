import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { ApiRequest } from '@holdfast/client';
import { createSeededRandom, createSilentLog } from '@holdfast/platform';
import { createVirtualClock } from '@holdfast/platform/testing';
import { containerConfig, sandboxConfig } from '../runtime/contract.ts';
import { createHollowRuntime } from '../runtime/hollow/index.ts';
import { createNodeApi } from './node-api.ts';

const clock = createVirtualClock();
const runtime = createHollowRuntime({ clock, random: createSeededRandom(1, 'machine') });
const api = createNodeApi({
  clock,
  log: createSilentLog(),
  runtime,
  logs: () => assert.fail('nobody asks for logs'),
  pods: () => [],
  pod: () => undefined,
});

const get = (path: string): ApiRequest => ({ method: 'GET', path, query: new URLSearchParams(), headers: {} });

test('paths named like Object.prototype members are not found', async () => {
  for (const name of ['constructor', '__proto__', 'toString', 'hasOwnProperty', 'valueOf', '']) {
    assert.equal((await api(get(`/${name}`))).status, 404, name);
  }
});

test('runningpods are those with running containers, as reported by the runtime', async () => {
  const sandbox = await runtime.runSandbox(sandboxConfig('u1'));
  await runtime.runSandbox(sandboxConfig('u2'));
  const id = await runtime.createContainer(sandbox, containerConfig(['stay'], {}));
  const starting = runtime.startContainer(id);
  await clock.advance(10_000);
  await starting;
  const { status, body } = await api(get('/runningpods/'));
  assert.equal(status, 200);
  const { items } =
    body.kind === 'json' ? (body.value() as { items: { metadata: object; spec: object }[] }) : { items: [] };
  assert.equal(items.length, 1);
  assert.deepEqual(items[0]?.metadata, {
    name: sandboxConfig('u1').podName,
    namespace: sandboxConfig('u1').podNamespace,
    uid: 'u1',
    creationTimestamp: null,
  });
});
