import assert from 'node:assert/strict';
import { test } from 'node:test';
import { transportContract } from './contract.ts';
import { createDirectTransport } from './direct.ts';
import { TransportError } from './port.ts';

transportContract('direct', async (handler, use) => {
  const transport = createDirectTransport(handler);
  await use(transport);
  await transport.close();
});

test('direct: a pipeline that throws is no answer', async () => {
  const transport = createDirectTransport(() => Promise.reject(new Error('bug')));
  const request = { method: 'GET' as const, path: '/', query: new URLSearchParams(), headers: {} };
  await assert.rejects(transport.request(request), TransportError);
});
