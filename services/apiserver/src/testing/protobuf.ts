import assert from 'node:assert/strict';
import { decodeProtobufObject, type ProtobufJson } from '@holdfast/api/protobuf';
import type { HttpMethod } from '@holdfast/client';
import { type Call, requestOf, type TestApi } from './fixture.ts';

export const PROTOBUF = 'application/vnd.kubernetes.protobuf';

export interface ProtobufCall extends Call {
  readonly accept?: string;
}

/** Status, type and object of an answer, read from its bytes as a Go client reads it. */
export async function callInProtobuf(
  api: TestApi,
  method: HttpMethod,
  url: string,
  { accept = `${PROTOBUF},application/json`, ...call }: ProtobufCall = {},
): Promise<{ readonly status: number; readonly type: string | undefined; readonly object: ProtobufJson }> {
  const answer = await api.server.handle(requestOf(method, url, { ...call, headers: { ...call.headers, accept } }));
  const { body } = answer;
  assert.ok(body.kind === 'json', `${url} is answered with ${body.kind}`);
  const bytes = body.pieces === undefined ? body.bytes() : Buffer.concat([...body.pieces().pieces]);
  assert.deepEqual(Buffer.from(bytes), Buffer.from(body.bytes()), 'whole and in pieces it is the same');
  return { status: answer.status, type: answer.headers['content-type'], object: decodeProtobufObject(bytes) };
}

/** Type and object of a frame of a watch. */
export function readFrame(frame: Buffer): { readonly type: string; readonly object: ProtobufJson } {
  assert.equal(frame.readUInt32BE(), frame.length - 4, 'a frame says how long it is');
  let at = 4;
  const delimited = (tag: number): Buffer => {
    assert.equal(frame[at], tag);
    let length = 0;
    for (let shift = 0; ; shift += 7) {
      const byte = frame[++at] ?? 0;
      length += (byte & 0x7f) * 2 ** shift;
      if (byte < 0x80) break;
    }
    at += 1 + length;
    return frame.subarray(at - length, at);
  };
  const type = delimited(0x0a).toString();
  const extension = delimited(0x12);
  assert.equal(at, frame.length);
  at -= extension.length;
  return { type, object: decodeProtobufObject(delimited(0x0a)) };
}

/** The first frames of a watch, as bytes. */
export async function framesOf(
  api: TestApi,
  url: string,
  count: number,
  accept = PROTOBUF,
): Promise<readonly Buffer[]> {
  const take = await openWatch(api, url, accept);
  return take(count);
}

/** Resolves when the watch is open: from then on it misses no change. The result takes its first frames. */
export async function openWatch(
  api: TestApi,
  url: string,
  accept = PROTOBUF,
): Promise<(count: number) => Promise<readonly Buffer[]>> {
  const abort = new AbortController();
  const answer = await api.call('GET', url, { headers: { accept }, signal: abort.signal });
  assert.equal(answer.headers['content-type'], `${PROTOBUF};stream=watch`);
  const { body } = answer.raw;
  assert.ok(body.kind === 'watch');
  return async (count) => {
    const frames: Buffer[] = [];
    for await (const frame of body.frames) {
      const bytes = frame.bytes();
      assert.ok(Buffer.isBuffer(bytes));
      if (frames.push(bytes) === count) break;
    }
    abort.abort();
    return frames;
  };
}
