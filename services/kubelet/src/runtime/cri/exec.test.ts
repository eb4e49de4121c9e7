import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createVirtualClock } from '@holdfast/platform/testing';
import { RuntimeError } from '../port.ts';
import type { CallLimits, CriConnection } from './connection.ts';
import { CriContainers } from './containers.ts';
import type { CriStore } from './store.ts';

test('a command that the runtime never answers is given up with the signal of its caller', async () => {
  const connection = {
    call: ({ signal }: CallLimits) =>
      new Promise((_resolve, reject) => {
        signal?.addEventListener('abort', () => reject(new RuntimeError('Internal', 'the call was cancelled')));
      }),
  } as unknown as CriConnection;
  const store = { container: async () => undefined } as unknown as CriStore;
  const deps = { connection, store, files: {} as never, clock: createVirtualClock(), node: 'n1' };
  const caller = new AbortController();
  const command = new CriContainers(deps).exec('c1', ['hook'], 60_000, caller.signal);
  const outcome = assert.rejects(command, { code: 'NotFound' });
  caller.abort();
  await outcome;
});
