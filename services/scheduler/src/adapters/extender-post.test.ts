import assert from 'node:assert/strict';
import { createServer } from 'node:http';
import { test } from 'node:test';
import { createSystemClock } from '@holdfast/platform';
import { decodeExtenders, type ExtenderConfig } from '../configuration/extenders.ts';
import { createExtenderPost } from './extender-post.ts';

test('calls over HTTP, forwards refusals, and waits no longer than its timeout', async (t) => {
  const bodies: string[] = [];
  const server = createServer((request, response) => {
    let body = '';
    request.on('data', (chunk: Buffer) => (body += chunk.toString()));
    request.on('end', () => {
      bodies.push(`${request.method} ${request.url} ${body}`);
      if (request.url === '/base/slow') return;
      response.writeHead(request.url === '/base/bad' ? 500 : 200).end('{"NodeNames":["a"]}');
    });
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  t.after(() => {
    server.closeAllConnections();
    server.close();
  });
  const bound = server.address();
  assert.ok(typeof bound === 'object' && bound !== null);
  const configOf = (httpTimeout: string): ExtenderConfig => {
    const [config] = decodeExtenders([{ urlPrefix: `http://127.0.0.1:${bound.port}/base/`, httpTimeout }], []);
    assert.ok(config !== undefined);
    return config;
  };
  const post = createExtenderPost(createSystemClock());
  assert.deepEqual(await post(configOf('10s'), 'filter', { Pod: 1 }), { NodeNames: ['a'] });
  assert.deepEqual(bodies, ['POST /base/filter {"Pod":1}']);
  await assert.rejects(post(configOf('10s'), 'bad', {}), /status 500/);
  await assert.rejects(post(configOf('50ms'), 'slow', {}), /gave no answer within 50 ms/);
});
