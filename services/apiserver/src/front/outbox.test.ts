import assert from 'node:assert/strict';
import { test } from 'node:test';
import { nextTurn } from '@holdfast/platform';
import type { Batch, Carried } from './messages.ts';
import { carried, Outbox } from './outbox.ts';

interface Note extends Carried {
  readonly text: string;
}

function recorded(): {
  readonly outbox: Outbox<Note>;
  readonly batches: Batch<Note>[];
  readonly moved: ArrayBuffer[][];
} {
  const batches: Batch<Note>[] = [];
  const moved: ArrayBuffer[][] = [];
  const outbox = new Outbox<Note>((batch, buffers) => {
    batches.push(batch);
    moved.push(buffers);
  });
  return { outbox, batches, moved };
}

const textsOf = ({ messages, bytes }: Batch<Note>): string[] =>
  messages.map((note) => `${note.text}:${carried(note, bytes)?.toString() ?? ''}`);

test('writes of one turn of the event loop are sent together, in order, each with its own bytes', async () => {
  const { outbox, batches } = recorded();
  outbox.push({ text: 'a' }, Buffer.from('one'));
  outbox.push({ text: 'b' });
  outbox.push({ text: 'c' }, Buffer.from('three'));
  assert.equal(batches.length, 0);
  await nextTurn();
  assert.deepEqual(batches.map(textsOf), [['a:one', 'b:', 'c:three']]);
  outbox.push({ text: 'd' }, Buffer.from('four'));
  await nextTurn();
  assert.deepEqual(batches.slice(1).map(textsOf), [['d:four']]);
});

test('the same bytes for many are copied once', async () => {
  const { outbox, batches, moved } = recorded();
  const bytes = Buffer.from('an event');
  for (const text of ['a', 'b', 'c']) outbox.push({ text }, bytes);
  await nextTurn();
  assert.deepEqual(batches.flatMap(textsOf), ['a:an event', 'b:an event', 'c:an event']);
  assert.equal(moved[0]?.[0]?.byteLength, bytes.length);
});

test('the last message is found by its bytes until it is sent or another follows', async () => {
  const { outbox } = recorded();
  const bytes = Buffer.from('an event');
  outbox.push({ text: 'a' }, bytes);
  assert.equal(outbox.lastWith(bytes)?.text, 'a');
  assert.equal(outbox.lastWith(Buffer.from('an event')), undefined);
  outbox.push({ text: 'b' });
  assert.equal(outbox.lastWith(bytes), undefined);
  outbox.push({ text: 'c' }, bytes);
  await nextTurn();
  assert.equal(outbox.lastWith(bytes), undefined);
});

test('many messages are sent before the end of the turn', async () => {
  const { outbox, batches } = recorded();
  const texts = Array.from({ length: 70 }, (_, i) => String(i));
  for (const text of texts) outbox.push({ text });
  assert.ok(batches.length > 0);
  await nextTurn();
  assert.deepEqual(
    batches.flatMap(({ messages }) => messages.map((note) => note.text)),
    texts,
  );
});

test('an empty write stays empty', async () => {
  const { outbox, batches } = recorded();
  outbox.push({ text: 'a' }, Buffer.alloc(0));
  outbox.push({ text: 'b' }, Buffer.from('b'));
  await nextTurn();
  assert.deepEqual(batches.map(textsOf), [['a:', 'b:b']]);
});
