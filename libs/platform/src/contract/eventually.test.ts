import assert from 'node:assert/strict';
import { test } from 'node:test';
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
