import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createVirtualClock } from '@holdfast/platform/testing';
import type { RuntimeImages } from '../runtime/port-images.ts';
import { createImageDisk } from './image-disk.ts';
import { createNodeStats } from './node-stats.ts';

const ROOM = { capacityBytes: 100, availableBytes: 7, inodes: 10, inodesFree: 5 };
const room = (path: string) => (path === '/images' ? ROOM : undefined);

/** Answers with these, one after the other. */
function imagesAt(answers: (string | undefined | Error)[]) {
  const asked: number[] = [];
  const directory = async (): Promise<string | undefined> => {
    asked.push(asked.length);
    const answer = answers.shift();
    if (answer instanceof Error) throw answer;
    return answer;
  };
  return { asked, images: { directory } as unknown as RuntimeImages };
}

test('the image disk is measured at the path from the runtime, which is queried until it answers, and not again', async () => {
  const { images, asked } = imagesAt([new Error('nobody answers'), undefined, '/images']);
  const measure = createImageDisk({ images }, { room });
  assert.deepEqual(
    [await measure(), await measure(), await measure(), await measure()],
    [undefined, undefined, ROOM, ROOM],
  );
  assert.equal(asked.length, 3);
  assert.equal(await createImageDisk({}, { room })(), undefined);
  assert.equal(await createImageDisk({ images }, undefined)(), undefined);
});

test('it is part of the node statistics', async () => {
  const { images } = imagesAt(['/images']);
  const machine = { sample: () => ({}), room, diskUse: async () => ({ bytes: 0, inodes: 0 }) };
  const runtime = { images, list: async () => [] } as never;
  const stats = createNodeStats({ runtime, clock: createVirtualClock(), pods: () => [], machine });
  assert.deepEqual((await stats.sample({ disk: false })).machine, { imageFs: ROOM });
});
