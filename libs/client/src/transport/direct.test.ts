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

test('direct: an exception of a pipeline is a failed request', async () => {
  const transport = createDirectTransport(() => Promise.reject(new Error('bug')));
  const request = { method: 'GET' as const, path: '/', query: new URLSearchParams(), headers: {} };
  await assert.rejects(transport.request(request), TransportError);
});
