import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { ApiResponse } from '@holdfast/client';
import { createSilentLog, createSystemClock } from '@holdfast/platform';
import type { Core } from '../../core.ts';
import { NODE_USAGE_BYTES_MAX } from '../../limits.ts';
import { nodeUsage } from './node-usage.ts';

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
