import assert from 'node:assert/strict';
import { type ClientHttp2Session, connect } from 'node:http2';
import { after, before, test } from 'node:test';
import { decodeProtobufObject, encodeObject } from '@holdfast/api/protobuf';
import { createSilentLog } from '@holdfast/platform';
import { createCertificate } from '../testing/certificate.ts';
import { startTestApi, type TestApi, valueAt } from '../testing/fixture.ts';
import { PROTOBUF, readFrame } from '../testing/protobuf.ts';
import { createHttpsServer, type HttpsServer } from './index.ts';

const MAPS = '/api/v1/namespaces/default/configmaps';
const tls = createCertificate();

let api: TestApi;
let https: HttpsServer;
let session: ClientHttp2Session;
before(async () => {
  api = await startTestApi();
  https = createHttpsServer({ handle: api.server.handle, log: createSilentLog(), host: '127.0.0.1', port: 0, tls });
  await https.start();
  session = connect(`https://127.0.0.1:${https.address().port}`, { ca: tls.certificate });
});
after(async () => {
  await new Promise<void>((resolve) => session.close(resolve));
  await https.stop();
  await api.stop();
});

interface Reply {
  readonly type: unknown;
  readonly length: unknown;
  readonly bytes: Buffer;
}

/** All that comes, or as much of it as is enough. */
function send(
  method: string,
  path: string,
  body?: Uint8Array,
  isEnough: (bytes: Buffer) => boolean = () => false,
): Promise<Reply> {
  const headers = { authorization: 'Bearer admin', accept: `${PROTOBUF}, */*`, 'content-type': PROTOBUF };
  const stream = session.request({ ':method': method, ':path': path, ...headers }, { endStream: body === undefined });
  if (body !== undefined) stream.end(body);
  return new Promise((resolve, reject) => {
    let [type, length]: unknown[] = [];
    let bytes = Buffer.alloc(0);
    const done = (): void => resolve({ type, length, bytes });
    stream.on('response', (answer) => ([type, length] = [answer['content-type'], answer['content-length']]));
    stream.on('data', (chunk: Buffer) => {
      bytes = Buffer.concat([bytes, chunk]);
      if (!isEnough(bytes)) return;
      stream.close();
      done();
    });
    stream.on('end', done).on('error', reject);
  });
}

test('objects are sent and received in protobuf', async () => {
  const object = { apiVersion: 'v1', kind: 'ConfigMap', metadata: { name: 'a' }, data: { k: 'Grüße' } };
  const { type, bytes } = await send('POST', MAPS, encodeObject(object));
  assert.equal(type, PROTOBUF);
  assert.equal(valueAt(decodeProtobufObject(bytes), 'data.k'), 'Grüße');
});

test('long lists arrive complete, also many at once', async () => {
  const names = Array.from({ length: 40 }, (_, i) => `long-${String(i).padStart(2, '0')}`);
  const text = (name: string): string => name.repeat(3_000);
  for (const name of names) await api.call('POST', MAPS, { body: { metadata: { name }, data: { k: text(name) } } });
  const replies = await Promise.all(Array.from({ length: 6 }, () => send('GET', `${MAPS}?limit=500`)));
  for (const { type, length, bytes } of replies) {
    assert.deepEqual([type, Number(length)], [PROTOBUF, bytes.length]);
    const items = decodeProtobufObject(bytes)['items'] as object[];
    const found = items.filter((item) => names.includes(String(valueAt(item, 'metadata.name'))));
    assert.deepEqual(
      found.map((item) => valueAt(item, 'data.k')),
      names.map(text),
    );
  }
});

test('a watch sends whole frames in order', async () => {
  const framesIn = (bytes: Buffer): Buffer[] => {
    const frames: Buffer[] = [];
    for (let at = 0; at + 4 <= bytes.length; at += frames.at(-1)?.length ?? 0) {
      const end = at + 4 + bytes.readUInt32BE(at);
      if (end > bytes.length) break;
      frames.push(bytes.subarray(at, end));
    }
    return frames;
  };
  const count = (await api.call('GET', MAPS)).names().length;
  const { type, bytes } = await send('GET', `${MAPS}?watch=1`, undefined, (all) => framesIn(all).length >= count);
  assert.equal(type, `${PROTOBUF};stream=watch`);
  assert.deepEqual(new Set(framesIn(bytes).map((frame) => readFrame(frame).type)), new Set(['ADDED']));
});
