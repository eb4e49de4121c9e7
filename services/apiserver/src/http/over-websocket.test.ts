import assert from 'node:assert/strict';
import { duplexPair } from 'node:stream';
import { test } from 'node:test';
import type { ApiRequest } from '@holdfast/client';
import { OPCODE } from '@holdfast/platform/websocket';
import { until } from '../testing/custom.ts';
import { startTestApi, type TestApi, valueAt } from '../testing/fixture.ts';

const PODS = '/api/v1/namespaces/default/pods';
const CONFIG_MAPS = '/api/v1/namespaces/default/configmaps';
const HANDSHAKE = {
  connection: 'Upgrade',
  upgrade: 'websocket',
  'sec-websocket-key': 'dGhlIHNhbXBsZSBub25jZQ==',
  'sec-websocket-version': '13',
};

interface Message {
  readonly opcode: number;
  readonly payload: Buffer;
}

/** Cuts what a server sends into messages: its frames are whole and have no mask. */
async function* messagesOf(bytes: AsyncIterable<Buffer>): AsyncGenerator<Message, void> {
  let pending: Buffer = Buffer.alloc(0);
  for await (const chunk of bytes) {
    pending = Buffer.concat([pending, chunk]);
    for (;;) {
      const short = (pending[1] ?? 0) & 0x7f;
      const head = short === 126 ? 4 : 2;
      if (pending.length < head) break;
      const length = short === 126 ? pending.readUInt16BE(2) : short;
      if (pending.length < head + length) break;
      yield { opcode: (pending[0] ?? 0) & 0x0f, payload: pending.subarray(head, head + length) };
      pending = pending.subarray(head + length);
    }
  }
}

interface Opened {
  readonly headers: Readonly<Record<string, string>>;
  readonly messages: AsyncGenerator<Message, void>;
  leave(): void;
}

async function open(api: TestApi, url: string, headers: Record<string, string> = {}): Promise<Opened> {
  const { raw } = await api.call('GET', url, { headers: { ...HANDSHAKE, ...headers } });
  assert.equal(raw.status, 101, JSON.stringify(raw));
  const [ours, theirs] = duplexPair();
  raw.upgrade?.(theirs, new Uint8Array());
  return { headers: raw.headers, messages: messagesOf(ours), leave: () => void ours.end() };
}

test('a watch over WebSocket sends one text message per event, and ends with its client', async () => {
  const api = await startTestApi();
  await api.call('POST', CONFIG_MAPS, { body: { metadata: { name: 'a' } } });
  const client = await open(api, `${CONFIG_MAPS}?watch=1`);
  assert.equal(client.headers['sec-websocket-accept'], 's3pPLMBiTxaQ9kYGzzhZRbK+xOo=');
  await api.call('POST', CONFIG_MAPS, { body: { metadata: { name: 'b' } } });
  const seen: unknown[] = [];
  for (let i = 0; i < 2; i += 1) {
    const { value } = await client.messages.next();
    assert.ok(value !== undefined);
    const event: unknown = JSON.parse(value.payload.toString());
    seen.push([value.opcode, valueAt(event, 'type'), valueAt(event, 'object.metadata.name')]);
  }
  assert.deepEqual(seen, [
    [OPCODE.text, 'ADDED', 'a'],
    [OPCODE.text, 'ADDED', 'b'],
  ]);
  client.leave();
  await api.stop();
});

test('a watch over WebSocket is authenticated by a token among its protocols, which is not repeated', async () => {
  const api = await startTestApi();
  const ask = async (token: string): Promise<readonly [number, string | undefined]> => {
    const protocols = `base64url.bearer.authorization.k8s.io.${Buffer.from(token).toString('base64url')}, events`;
    const headers = { ...HANDSHAKE, 'sec-websocket-protocol': protocols };
    const { status, raw } = await api.call('GET', `${CONFIG_MAPS}?watch=1`, { as: 'anonymous', headers });
    raw.upgrade?.(duplexPair()[0].destroy(), new Uint8Array());
    return [status, raw.headers['sec-websocket-protocol']];
  };
  assert.deepEqual(await ask('admin'), [101, 'events']);
  assert.deepEqual(await ask('unknown'), [401, undefined]);
  await api.stop();
});

async function* written(...texts: readonly string[]): AsyncGenerator<Uint8Array, void> {
  for (const text of texts) yield Buffer.from(text);
}

async function startWithPod(log: () => AsyncIterable<Uint8Array>): Promise<TestApi> {
  const request = async (_node: string, { headers }: ApiRequest) => {
    assert.deepEqual(headers, {});
    return { status: 200, headers: {}, body: { kind: 'stream', chunks: log() } } as const;
  };
  const api = await startTestApi({ nodes: () => ({ request }) });
  const spec = { containers: [{ name: 'a', image: 'i' }], nodeName: 'n1' };
  await api.call('POST', PODS, { body: { metadata: { name: 'p' }, spec } });
  return api;
}

async function textOf({ messages }: Opened, decode: (message: Buffer) => string): Promise<string> {
  let text = '';
  for (let next = await messages.next(); next.done !== true; next = await messages.next()) {
    if (next.value.opcode === OPCODE.close) return text;
    text += decode(next.value.payload);
  }
  return text;
}

for (const [protocol, decode] of [
  ['', String],
  ['binary.k8s.io', String],
  ['base64.binary.k8s.io', (message: Buffer) => Buffer.from(message.toString(), 'base64').toString()],
] as const) {
  test(`logs over WebSocket come as ${protocol || 'plain'} messages and end with a close`, async () => {
    const long = 'x'.repeat(40_000);
    const api = await startWithPod(() => written('one\n', 'zwei ü\n', long));
    const offered: Record<string, string> = protocol === '' ? {} : { 'sec-websocket-protocol': `other, ${protocol}` };
    const client = await open(api, `${PODS}/p/log?follow=true`, offered);
    assert.equal(client.headers['sec-websocket-protocol'] ?? '', protocol);
    assert.equal(await textOf(client, decode), `one\nzwei ü\n${long}`);
    client.leave();
    await api.stop();
  });
}

test('a request that cannot be upgraded is refused as without WebSocket', async () => {
  const api = await startWithPod(() => written('one'));
  const status = async (url: string, headers: Record<string, string>): Promise<number> =>
    (await api.call('GET', url, { headers })).status;
  assert.equal(await status(`${PODS}/none/log`, HANDSHAKE), 404);
  assert.equal(await status(`${PODS}/p/log`, { ...HANDSHAKE, 'sec-websocket-protocol': 'other' }), 403);
  assert.equal(await status(`${PODS}/p/log`, { ...HANDSHAKE, 'sec-websocket-version': '12' }), 400);
  assert.equal(await status(`${CONFIG_MAPS}`, HANDSHAKE), 200);
  assert.equal(await status(`${CONFIG_MAPS}?watch=1&fieldSelector=a`, HANDSHAKE), 400);
  await api.stop();
});

async function openWatches(api: TestApi): Promise<string | undefined> {
  const { body } = await api.call('GET', '/metrics');
  return /^apiserver_registered_watchers\{resource="configmaps"\} (\d+)$/m.exec(String(body))?.[1];
}

test('a quiet watch over WebSocket frees its slot when its client disconnects', async () => {
  const api = await startTestApi();
  const client = await open(api, `${CONFIG_MAPS}?watch=1`);
  assert.equal(await openWatches(api), '1');
  client.leave();
  await until(async () => (await openWatches(api)) === '0');
  await api.stop();
});

test('a handshake that is refused ends the watch, or the log, that was opened for it', async () => {
  const logs = { opened: 0, ended: 0 };
  const chunks: AsyncIterable<Uint8Array> = {
    [Symbol.asyncIterator]: () => ({
      next: () => new Promise(() => {}),
      return: () => {
        logs.ended += 1;
        return Promise.resolve({ done: true, value: undefined });
      },
    }),
  };
  const api = await startWithPod(() => {
    logs.opened += 1;
    return chunks;
  });
  const unversioned = { ...HANDSHAKE, 'sec-websocket-version': '12' };
  const refused = await api.call('GET', `${CONFIG_MAPS}?watch=1`, { headers: unversioned });
  assert.deepEqual([refused.status, await openWatches(api)], [400, '0']);
  for (const headers of [unversioned, { ...HANDSHAKE, 'sec-websocket-protocol': 'other' }]) {
    await api.call('GET', `${PODS}/p/log?follow=true`, { headers });
  }
  assert.deepEqual(logs, { opened: 2, ended: 2 });
  await api.stop();
});
