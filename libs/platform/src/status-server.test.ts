import assert from 'node:assert/strict';
import { test } from 'node:test';
import { OperatorError } from './errors.ts';
import { createStatusServer, metricsAnswer, statusText } from './status-server.ts';

const serverAt = (address: string, tlsSettings?: string) =>
  createStatusServer({
    component: 'clock',
    address,
    ...(tlsSettings === undefined ? {} : { tlsSettings }),
    answer: (path) => (path === '/metrics' ? metricsAnswer('ticks 1\n') : statusText(404, 'there is /metrics')),
  });

test('the path alone determines the answer, from start to stop', async (t) => {
  const server = serverAt('127.0.0.1:0');
  t.after(() => server.stop());
  await server.stop();
  await server.start();
  const url = `http://127.0.0.1:${server.port}`;
  assert.equal(await (await fetch(`${url}/metrics?x=1`)).text(), 'ticks 1\n');
  assert.equal((await fetch(url)).status, 404);
  await server.stop();
  await server.stop();
  await assert.rejects(fetch(url));
});

test('a failed answer is reported to its client, and the next request is answered', async (t) => {
  const answer = (path: string) => {
    if (path === '/healthz') return statusText(200, 'ok');
    throw new Error('no such count');
  };
  const server = createStatusServer({ component: 'clock', address: '127.0.0.1:0', answer });
  t.after(() => server.stop());
  await server.start();
  const url = `http://127.0.0.1:${server.port}`;
  const failed = await fetch(`${url}/metrics`);
  assert.deepEqual([failed.status, await failed.text()], [500, 'no such count\n']);
  assert.equal((await fetch(`${url}/healthz`)).status, 200);
});

test('an invalid address, or a public one without a certificate, is refused with the next step', () => {
  assert.throws(() => serverAt('nowhere'), /form host:port, not "nowhere"/);
  const refused = (error: unknown): boolean => error instanceof OperatorError && /Give --cert, or/.test(error.nextStep);
  assert.throws(() => serverAt('0.0.0.0:1', '--cert'), refused);
  for (const open of ['127.example:1', '10.0.0.1:1', '[::]:1']) assert.throws(() => serverAt(open), /not be encrypted/);
});

test('a port in use is reported with the next step', async (t) => {
  const first = serverAt('127.0.0.1:0');
  t.after(() => first.stop());
  await first.start();
  const second = serverAt(`127.0.0.1:${first.port}`);
  await assert.rejects(second.start(), (error) => error instanceof OperatorError && /EADDRINUSE/.test(error.message));
  await second.stop();
});
