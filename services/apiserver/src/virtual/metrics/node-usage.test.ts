import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { ApiRequest, ApiResponse } from '@holdfast/client';
import { createSilentLog, createSystemClock } from '@holdfast/platform';
import { createVirtualClock } from '@holdfast/platform/testing';
import type { Core } from '../../core.ts';
import { NODE_USAGE_BYTES_MAX, NODE_USAGE_LIST_MS, NODE_USAGE_MS, NODE_USAGE_PARALLEL } from '../../limits.ts';
import { nodeUsage, nodeUsages } from './node-usage.ts';

const PIECE_BYTES = 64 * 1024;

interface Seen {
  asked: number;
  pieces: number;
  hasLeft: boolean;
}

/** A node whose kubelet answers with its usage and so many bytes more, and what became of the answers. */
function talkativeNode(status: number, bytes: number): { core: Core; seen: Seen } {
  const seen = { asked: 0, pieces: 0, hasLeft: false };
  const node = { cpu: { time: '', usageNanoCores: 7 }, memory: { workingSetBytes: 1 } };
  const text = Buffer.from(JSON.stringify({ node, pad: 'x'.repeat(bytes) }));
  const request = async (): Promise<ApiResponse> => {
    seen.asked++;
    return { status, headers: {}, body: { kind: 'stream', chunks: piecesOf(text, seen) } };
  };
  const core = { nodes: { request }, clock: createSystemClock(), log: createSilentLog() } as unknown as Core;
  return { core, seen };
}

const piecesOf = (text: Buffer, seen: Seen): AsyncIterable<Uint8Array> => ({
  [Symbol.asyncIterator]: () => ({
    next: async () => {
      const at = seen.pieces * PIECE_BYTES;
      if (at >= text.length) return { done: true, value: undefined };
      seen.pieces++;
      return { done: false, value: text.subarray(at, at + PIECE_BYTES) };
    },
    return: async () => {
      seen.hasLeft = true;
      return { done: true, value: undefined };
    },
  }),
});

test('the answer of a node is read up to a limit; a node that says more is unmeasured', async () => {
  const { core, seen } = talkativeNode(200, 3 * NODE_USAGE_BYTES_MAX);
  assert.deepEqual(await nodeUsage(core, 'a'), { node: undefined, pods: [] });
  assert.deepEqual(seen, { asked: 1, pieces: NODE_USAGE_BYTES_MAX / PIECE_BYTES + 1, hasLeft: true });
  const honest = talkativeNode(200, NODE_USAGE_BYTES_MAX / 2);
  assert.equal((await nodeUsage(honest.core, 'a')).node?.cpuNanoCores, 7);
});

test('an error of a kubelet is not read, and its connection is not kept', async () => {
  const { core, seen } = talkativeNode(500, PIECE_BYTES);
  assert.equal((await nodeUsage(core, 'a')).node, undefined);
  assert.deepEqual(seen, { asked: 1, pieces: 0, hasLeft: true });
});

test('clients that ask about a node at one time share one question; a later one asks anew', async () => {
  const { core, seen } = talkativeNode(200, 0);
  const both = await Promise.all([nodeUsage(core, 'a'), nodeUsage({ ...core }, 'a')]);
  assert.deepEqual(
    both.map(({ node }) => node?.cpuNanoCores),
    [7, 7],
  );
  assert.equal(seen.asked, 1);
  await nodeUsage(core, 'b');
  await nodeUsage(core, 'a');
  assert.equal(seen.asked, 3);
});

test('of many nodes some are asked at a time, and each has its time from when it is asked', async () => {
  const clock = createVirtualClock();
  const open = new Set<string>();
  const request = (node: string, { signal }: ApiRequest): Promise<ApiResponse> =>
    new Promise((_resolve, reject) => {
      open.add(node);
      signal?.addEventListener('abort', () => {
        open.delete(node);
        reject(new Error('it was left'));
      });
    });
  const core = { nodes: { request }, clock, log: createSilentLog() } as unknown as Core;
  const count = 2 * NODE_USAGE_PARALLEL + 1;
  const names = Array.from({ length: count }, (_, index) => `n${index}`);
  let answered = 0;
  const all = names.map((name) => nodeUsage(core, name).then(() => (answered += 1)));
  for (const under of [NODE_USAGE_PARALLEL, NODE_USAGE_PARALLEL, 1]) {
    await clock.advance(NODE_USAGE_MS - 1);
    assert.equal(open.size, under);
    await clock.advance(1);
  }
  await Promise.all(all);
  assert.deepEqual([open.size, answered], [0, count]);
});

test('a list of many silent nodes is answered in time, with those that were measured', async () => {
  const clock = createVirtualClock();
  const usage = { cpu: { time: '', usageNanoCores: 7 }, memory: { workingSetBytes: 1 } };
  const request = (node: string, { signal }: ApiRequest): Promise<ApiResponse> =>
    node === 'quick'
      ? Promise.resolve({
          status: 200,
          headers: {},
          body: { kind: 'json', bytes: () => Buffer.alloc(0), value: () => ({ node: usage }) },
        })
      : new Promise((_, reject) => signal?.addEventListener('abort', () => reject(signal.reason)));
  const core = { nodes: { request }, clock, log: createSilentLog() } as unknown as Core;
  const rounds = 2 * (NODE_USAGE_LIST_MS / NODE_USAGE_MS);
  const silent = Array.from({ length: rounds * NODE_USAGE_PARALLEL }, (_, i) => `silent-${i}`);
  const answering = nodeUsages(core, ['quick', ...silent]);
  let isAnswered = false;
  void answering.then(() => {
    isAnswered = true;
  });
  await clock.advance(NODE_USAGE_LIST_MS - 1);
  assert.equal(isAnswered, false);
  await clock.advance(1);
  const answered = await answering;
  assert.equal(answered.size, silent.length + 1);
  assert.deepEqual(
    [...answered].filter(([, { node }]) => node !== undefined).map(([name]) => name),
    ['quick'],
  );
});
