import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { ApiRequest } from '@holdfast/client';
import { createSeededRandom, createSilentLog } from '@holdfast/platform';
import { createNodeApi } from './node-api.ts';
import { createHollowRuntime } from './runtime/hollow/index.ts';
import { createVirtualClock } from './test-support/virtual-clock.ts';

const clock = createVirtualClock();
const api = createNodeApi({
  clock,
  log: createSilentLog(),
  runtime: createHollowRuntime({ clock, random: createSeededRandom(1, 'machine') }),
  logs: () => assert.fail('nobody asks for logs'),
  pods: () => [],
  pod: () => undefined,
});

const get = (path: string): ApiRequest => ({ method: 'GET', path, query: new URLSearchParams(), headers: {} });

test('paths that are named like members of every object are not found', async () => {
  for (const name of ['constructor', '__proto__', 'toString', 'hasOwnProperty', 'valueOf', '']) {
    assert.equal((await api(get(`/${name}`))).status, 404, name);
  }
});
