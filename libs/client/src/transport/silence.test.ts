import assert from 'node:assert/strict';
import { test } from 'node:test';
import { eventually } from '@holdfast/platform/contract';
import { createVirtualClock } from '@holdfast/platform/testing';
import { SERVER_PROBE_MS, SERVER_SILENT_MS } from '../limits.ts';
import { createTestCertificate, startTestServer } from '../testing/https-server.ts';
import { createHttpsTransport } from './https.ts';
import type { ApiHandler, ApiRequest, ApiResponse } from './port.ts';

const certificate = createTestCertificate();

const request = (method: 'GET' | 'POST', path: string, query = ''): ApiRequest => ({
  method,
  path,
  query: new URLSearchParams(query),
  headers: {},
  ...(method === 'POST' ? { body: '{}' } : {}),
});

const text = (body: string): ApiResponse => ({
  status: 200,
  headers: {},
  body: { kind: 'text', contentType: 'text/plain', text: body },
});

const textOf = ({ body }: ApiResponse): string => (body.kind === 'text' ? body.text : '');

async function* oneFrame(signal: AbortSignal | undefined) {
  const event = { type: 'ADDED' as const, object: {} };
  yield { bytes: () => Buffer.from(`${JSON.stringify(event)}\n`), value: () => event };
  await new Promise<void>((resolve) => signal?.addEventListener('abort', () => resolve()));
}

/** A client of servers, of which the first answers what the test lets it answer. */
async function startScene(count: number) {
  const arrived: string[] = [];
  const back = Promise.withResolvers<void>();
  const scene = { answers: (_path: string): boolean => true, release: back.resolve };
  const first: ApiHandler = async ({ path, query, signal }) => {
    arrived.push(path);
    if (query.get('watch') === 'true')
      return { status: 200, headers: {}, body: { kind: 'watch', frames: oneFrame(signal) } };
    if (!scene.answers(path)) await back.promise;
    return text('first');
  };
  const others: ApiHandler = async () => text('other');
  const servers = await Promise.all(
    Array.from({ length: count }, (_, i) => startTestServer(i === 0 ? first : others, certificate)),
  );
  const clock = createVirtualClock();
  const transport = createHttpsTransport({ servers: servers.map(({ url }) => url), caPem: certificate.certPem, clock });
  assert.equal(textOf(await transport.request(request('GET', '/begin'))), 'first');
  const isAt = (path: string): Promise<unknown> => eventually(() => arrived.includes(path), `${path} arrives`);
  /** Resolves when the request is at the first server, which does not answer. */
  const hang = async (hanging: ApiRequest) => {
    const answer = transport.request(hanging);
    answer.catch(() => undefined);
    await isAt(hanging.path);
    return { answer };
  };
  const watch = async (): Promise<() => Promise<unknown>> => {
    const { body } = await transport.request(request('GET', '/watched', 'watch=true'));
    assert.ok(body.kind === 'watch');
    const frames = body.frames[Symbol.asyncIterator]();
    await frames.next();
    return () => frames.next();
  };
  const close = async (): Promise<void> => {
    await transport.close();
    await Promise.all(servers.map((server) => server.close()));
  };
  return Object.assign(scene, { transport, clock, arrived, hang, isAt, watch, [Symbol.asyncDispose]: close });
}

test('https: a server that falls silent is avoided within a second, and what waits for it moves on soon after', async () => {
  await using scene = await startScene(2);
  const { transport, clock, hang } = scene;
  const next = await scene.watch();
  const frame = next();
  scene.answers = () => false;
  const read = await hang(request('GET', '/read'));
  const followed = await hang({ ...request('GET', '/followed'), signal: new AbortController().signal });
  const write = await hang(request('POST', '/write'));
  let written: string | undefined;
  void write.answer.then((answer) => (written = textOf(answer)));
  clock.skip(SERVER_SILENT_MS);
  assert.equal(textOf(await transport.request(request('POST', '/next'))), 'other');
  await scene.isAt('/livez');
  clock.skip(SERVER_PROBE_MS);
  assert.deepEqual([textOf(await read.answer), textOf(await followed.answer)], ['other', 'other']);
  assert.equal(written, undefined, 'nobody else may be asked for it, and it may still happen');
  assert.deepEqual(await frame, { value: undefined, done: true });
  scene.release();
  assert.equal(textOf(await write.answer), 'first');
});

test('https: a server with a slow request is asked whether it is there, less and less often, and keeps its watches', async () => {
  await using scene = await startScene(2);
  const { clock, hang, arrived } = scene;
  const next = await scene.watch();
  const ended: string[] = [];
  const note = (what: string) => (): void => void ended.push(what);
  next().catch(note('watch'));
  scene.answers = (path) => path === '/livez';
  const slow = await hang(request('POST', '/slow'));
  slow.answer.catch(note('request'));
  const askedAtMs: number[] = [];
  await eventually(async () => {
    await clock.advance(100);
    if (arrived.filter((path) => path === '/livez').length > askedAtMs.length) askedAtMs.push(clock.monotonic());
    return askedAtMs.length === 3;
  }, 'three questions');
  const waits = askedAtMs.map((atMs, index) => atMs - (askedAtMs[index - 1] ?? 0));
  for (const [index, waitMs] of waits.entries()) assert.ok(waitMs >= SERVER_SILENT_MS * 2 ** index, waits.join(', '));
  assert.deepEqual(ended, []);
});

test('https: one that answers anything is not silent, and a single server is never left', async () => {
  await using busy = await startScene(2);
  busy.answers = (path) => path !== '/slow';
  await busy.hang(request('POST', '/slow'));
  for (const path of ['/a', '/b', '/c']) {
    busy.clock.skip(SERVER_SILENT_MS - 1);
    assert.equal(textOf(await busy.transport.request(request('GET', path))), 'first');
  }
  await using single = await startScene(1);
  single.answers = (path) => path !== '/slow';
  await single.hang(request('POST', '/slow'));
  single.clock.skip(SERVER_SILENT_MS + SERVER_PROBE_MS);
  assert.equal(textOf(await single.transport.request(request('GET', '/d'))), 'first');
  assert.deepEqual([...busy.arrived, ...single.arrived].includes('/livez'), false);
});
