import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createVirtualClock } from '../testing/virtual-clock.ts';
import { eventually } from './eventually.ts';

test('undefined, false, an empty text and an error mean "not yet"', async () => {
  const answers = [undefined, false, '', new Error('not there'), 'here', 'later'] as const;
  let looks = 0;
  const look = (): string | false | undefined => {
    const answer = answers[looks++];
    if (answer instanceof Error) throw answer;
    return answer;
  };
  assert.equal(await eventually(look, 'it is there', { pollMs: 0 }), 'here');
  assert.equal(looks, 5);
});

test('a look that takes long is followed by a rest of twice its time, up to a second', async () => {
  const clock = createVirtualClock();
  const begun: number[] = [];
  const takes = [0, 100, 2_000, 0];
  const look = async (): Promise<boolean> => {
    await clock.sleep(takes[begun.push(clock.monotonic()) - 1] ?? 0);
    return begun.length === takes.length;
  };
  const found = eventually(look, 'the last look', { pollMs: 50, clock });
  await clock.advance(10_000);
  assert.equal(await found, true);
  assert.deepEqual(begun, [0, 50, 350, 3_350]);
});
