import assert from 'node:assert/strict';
import { IncomingMessage, ServerResponse } from 'node:http';
import { Socket } from 'node:net';
import { test } from 'node:test';
import { type Clock, createSystemClock } from '@holdfast/platform/clock';
import { ClientAnswer } from './client-answer.ts';
import { UnreadAnswers } from './unread-answers.ts';

/** Answers, and a clock that is moved on by hand. */
function answering(): {
  answer: () => ServerResponse;
  begin: () => readonly [ServerResponse, ClientAnswer];
  look: () => void;
  looks: () => number;
} {
  const due: (() => void)[] = [];
  const clock: Clock = {
    ...createSystemClock(),
    timer: (_delayMs, fire) => {
      due.push(fire);
      return { cancel: () => {} };
    },
  };
  const unread = new UnreadAnswers(clock, 1);
  const begin = (): readonly [ServerResponse, ClientAnswer] => {
    const raw = new ServerResponse(new IncomingMessage(new Socket()));
    return [
      raw,
      new ClientAnswer(raw, { headOnly: false, auditId: 'a', stallMs: 1, clock, unread, onAnswer: () => {} }),
    ];
  };
  const answer = (): ServerResponse => {
    const [raw, side] = begin();
    side.answer(200, {}, Buffer.from('x'));
    return raw;
  };
  return { answer, begin, look: () => due.shift()?.(), looks: () => due.length };
}

test('an answer is cut off at the second check that still finds it', () => {
  const { answer, look, looks } = answering();
  const stays = answer();
  const leaves = answer();
  look();
  assert.deepEqual([stays.destroyed, looks()], [false, 1]);
  leaves.emit('close');
  const later = answer();
  look();
  assert.deepEqual([stays.destroyed, leaves.destroyed, later.destroyed, looks()], [true, false, false, 1]);
  later.emit('close');
  look();
  assert.equal(looks(), 0, 'nothing is looked for when all have left');
});

test('answers of disconnected clients are not checked', () => {
  const { begin, looks } = answering();
  const [raw, answer] = begin();
  raw.emit('close');
  answer.answer(200, {}, Buffer.from('x'));
  assert.equal(looks(), 0);
});

test('the end of an answer whose client is gone starts no timer', () => {
  const { begin, looks } = answering();
  const [raw, answer] = begin();
  answer.begin(200, {});
  raw.emit('close');
  answer.end();
  assert.equal(looks(), 0);
});

test('an answer that waits behind another is cut off with its connection', () => {
  const { answer, look } = answering();
  const waits = answer();
  assert.equal(waits.socket, null);
  look();
  look();
  assert.equal(waits.req.socket.destroyed, true);
});
