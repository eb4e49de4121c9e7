import assert from 'node:assert/strict';
import { Duplex } from 'node:stream';
import { test } from 'node:test';
import { type ApiRequest, type ApiResponse, TransportError } from '@holdfast/client';
import { UPSTREAM_REQUESTS_MAX, UPSTREAM_REQUESTS_OF_USER_MAX } from '../limits.ts';
import { createUpstream } from './upstream.ts';

const requestOf = (user: string, method: 'GET' | 'PUT' = 'GET'): ApiRequest => ({
  method,
  path: '/api/v1/pods',
  query: new URLSearchParams(),
  headers: { authorization: `Bearer ${user}` },
});

/** An answer of which the console reads nothing before its page does. */
function streamOf(pieces: number): ApiResponse {
  async function* chunks(): AsyncGenerator<Uint8Array> {
    for (let i = 0; i < pieces; i++) yield Buffer.from('x');
  }
  return { status: 200, headers: {}, body: { kind: 'stream', chunks: chunks() } };
}

function setUp(answer: () => ApiResponse | Promise<ApiResponse>) {
  const request = async (): Promise<ApiResponse> => answer();
  const transport = { request, requestAt: request, close: async () => {} };
  return createUpstream(transport, ['https://apiserver-1:6443']).handle;
}

const isFull = (error: unknown): boolean => error instanceof Error && error.message.startsWith('too many requests');

async function take(handle: (request: ApiRequest) => Promise<ApiResponse>, user: string, count: number) {
  return Promise.all(Array.from({ length: count }, () => handle(requestOf(user))));
}

const chunksOf = ({ body }: ApiResponse): AsyncIterator<Uint8Array> => {
  assert.ok(body.kind === 'stream');
  return body.chunks[Symbol.asyncIterator]();
};

test('one user has so many requests open and leaves room for others', async () => {
  const handle = setUp(() => streamOf(1));
  await take(handle, 'alice', UPSTREAM_REQUESTS_OF_USER_MAX);
  await assert.rejects(handle(requestOf('alice')), isFull);
  assert.equal((await handle(requestOf('bob'))).status, 200);
});

test('all users together have a bound as well', async () => {
  const handle = setUp(() => streamOf(1));
  for (let i = 0; i < UPSTREAM_REQUESTS_MAX; i++) await handle(requestOf(`user-${i % 10}`));
  await assert.rejects(handle(requestOf('late')), isFull);
});

test('a place is free after the last byte, when the page leaves, and when there is no answer, once each', async () => {
  const handle = setUp(() => streamOf(1));
  const open = await take(handle, 'alice', UPSTREAM_REQUESTS_OF_USER_MAX);
  const [read, left] = open.map(chunksOf);
  await read?.next();
  await assert.rejects(handle(requestOf('alice')), isFull, 'it has not ended');
  await read?.next();
  await read?.next();
  await left?.return?.();
  await left?.return?.();
  await take(handle, 'alice', 2);
  await assert.rejects(handle(requestOf('alice')), isFull);
  const broken = setUp(() => Promise.reject(new TransportError('gone')));
  for (let i = 0; i <= UPSTREAM_REQUESTS_OF_USER_MAX; i++) {
    await assert.rejects(broken(requestOf('alice')), /no API server answers the console/);
  }
});

test('a terminal has its place until its connection is closed', async () => {
  const handle = setUp(() => ({ status: 101, headers: {}, body: { kind: 'empty' }, upgrade: () => {} }));
  const [terminal] = await take(handle, 'alice', UPSTREAM_REQUESTS_OF_USER_MAX);
  const client = new Duplex({ read: () => {}, write: (_chunk, _encoding, done) => done() });
  terminal?.upgrade?.(client, Buffer.alloc(0));
  await assert.rejects(handle(requestOf('alice')), isFull);
  const closed = new Promise((resolve) => client.once('close', resolve));
  client.destroy();
  await closed;
  assert.equal((await handle(requestOf('alice'))).status, 101);
});

test('a write that certainly did not arrive is told as one that changed nothing', async () => {
  const failing = (possiblySent: boolean) => setUp(() => Promise.reject(new TransportError('gone', { possiblySent })));
  await assert.rejects(failing(false)(requestOf('alice', 'PUT')), /no API server answers/);
  await assert.rejects(failing(true)(requestOf('alice', 'PUT')), /may have made the change/);
});
