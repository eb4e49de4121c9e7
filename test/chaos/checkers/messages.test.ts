import assert from 'node:assert/strict';
import { test } from 'node:test';
import { brokenMessages, type Published, type StoredMessage } from './messages.ts';

/** Published in this order, each after the one before it was acknowledged. `?`: it was not. */
function publishedInTurn(...messages: readonly string[]): readonly Published[] {
  return messages.map((text, index) => {
    const message = text.replace('?', '');
    const beganMs = index * 10;
    return text.endsWith('?')
      ? { message, beganMs }
      : { message, beganMs, acknowledged: { atMs: beganMs + 5, sequence: index + 1 } };
  });
}

const stream = (...messages: readonly string[]): readonly StoredMessage[] =>
  messages.map((message, index) => ({ message, sequence: index + 1 }));

const PUBLISHED = publishedInTurn('a-0', 'a-1', 'a-2', 'a-3?');

test('what was acknowledged is in the stream once and in order; what was not may be', () => {
  assert.deepEqual(brokenMessages(PUBLISHED, stream('a-0', 'a-1', 'a-2')), []);
  assert.deepEqual(brokenMessages(PUBLISHED, stream('a-0', 'a-1', 'a-2', 'a-3')), []);
});

const WRONG: readonly (readonly [title: string, stored: readonly StoredMessage[], stories: readonly string[]])[] = [
  [
    'a message that was acknowledged is lost',
    stream('a-0', 'a-1'),
    ['a-2 was acknowledged as 3, and is not in the stream'],
  ],
  [
    'a message is stored twice',
    stream('a-0', 'a-1', 'a-2', 'a-1'),
    ['a-1 is in the stream 2 times: 2, 4', 'a-2 was published after a-1 had been acknowledged, and is before it'],
  ],
  [
    'a message that nobody has acknowledged is stored twice',
    stream('a-0', 'a-1', 'a-2', 'a-3', 'a-3'),
    ['a-3 is in the stream 2 times: 4, 5'],
  ],
  [
    'another message took its place',
    [...stream('a-0', 'a-1', 'a-3'), { message: 'a-2', sequence: 4 }],
    [
      'a-2 was acknowledged as 3, and is in the stream as 4',
      'a-3 was published after a-2 had been acknowledged, and is before it',
    ],
  ],
  [
    'nobody has published it',
    stream('a-0', 'a-1', 'a-2', 'b-0'),
    ['b-0 is in the stream, and nobody has published it'],
  ],
];

for (const [title, stored, stories] of WRONG)
  test(`a wrong history is found: ${title}`, () => {
    assert.deepEqual(brokenMessages(PUBLISHED, stored), stories);
  });

test('messages that were published at the same time are in either order', () => {
  const together: readonly Published[] = [
    { message: 'a-0', beganMs: 0, acknowledged: { atMs: 20, sequence: 2 } },
    { message: 'b-0', beganMs: 10, acknowledged: { atMs: 15, sequence: 1 } },
  ];
  assert.deepEqual(brokenMessages(together, stream('b-0', 'a-0')), []);
});
