import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createSilentLog } from '@holdfast/platform';
import type { FrontMessage } from './messages.ts';
import { Outbox } from './outbox.ts';
import { type Asked, type Asker, RemotePipeline } from './remote-pipeline.ts';

const ASKED: Asked = {
  method: 'GET',
  url: '/',
  headers: {},
  remoteAddress: '127.0.0.1',
  clientCertificate: undefined,
  body: undefined,
};

function asker(chunk: (bytes: Buffer) => void, heard: string[]): Asker {
  const note = (kind: string) => () => void heard.push(kind);
  return {
    answer: note('answer'),
    begin: note('begin'),
    upgrade: note('upgrade'),
    chunk,
    piece: note('piece'),
    end: note('end'),
    finish: note('finish'),
    cut: note('cut'),
    taken: note('taken'),
  };
}

test('bytes for many clients reach each of them, and only an unwritable client is cut off', () => {
  const sent: FrontMessage[] = [];
  const outbox = new Outbox<FrontMessage>(({ messages }) => sent.push(...messages));
  const pipeline = new RemotePipeline(outbox, createSilentLog());
  const heard: string[][] = [[], [], [], []];
  for (const [i, own] of heard.entries()) {
    const refuse = (): void => {
      throw new Error('no');
    };
    pipeline.ask(ASKED, asker(i === 1 ? refuse : (bytes) => void own.push(bytes.toString()), own));
  }
  outbox.flush();
  const ids = sent.splice(0).map((message) => ('id' in message ? message.id : -1));
  const [first = -1, ...others] = ids;
  pipeline.receive({ kind: 'cut', id: ids[3] ?? -1 }, undefined);
  pipeline.receive({ kind: 'chunk', id: first, also: others }, Buffer.from('a change'));
  outbox.flush();
  assert.deepEqual(heard, [['a change'], ['cut'], ['a change'], ['cut']]);
  assert.deepEqual(sent, [{ kind: 'gone', id: ids[1] }]);
});

test('receipts for the same changes are spread, and each byte is acknowledged once', () => {
  const sent: FrontMessage[] = [];
  const outbox = new Outbox<FrontMessage>(({ messages }) => sent.push(...messages));
  const pipeline = new RemotePipeline(outbox, createSilentLog());
  const questions = Array.from({ length: 100 }, () =>
    pipeline.ask(
      ASKED,
      asker(() => {}, []),
    ),
  );
  outbox.flush();
  sent.length = 0;
  const receipts: number[] = [];
  let bytes = 0;
  for (let change = 0; change < 256; change++) {
    for (const question of questions) question.taken(512);
    outbox.flush();
    const taken = sent.splice(0).filter((message) => message.kind === 'taken');
    receipts.push(taken.length);
    for (const each of taken) bytes += each.bytes;
  }
  assert.ok(Math.max(...receipts) <= 10, `${Math.max(...receipts)} at once`);
  const unacknowledged = 100 * 256 * 512 - bytes;
  assert.ok(unacknowledged >= 0 && unacknowledged < 100 * 32 * 1024, `${unacknowledged} bytes`);
});

test('the whole answers of a batch are acknowledged together, also those of disconnected clients', () => {
  const sent: FrontMessage[] = [];
  const outbox = new Outbox<FrontMessage>(({ messages }) => sent.push(...messages));
  const pipeline = new RemotePipeline(outbox, createSilentLog());
  pipeline.ask(
    ASKED,
    asker(() => {}, []),
  );
  outbox.flush();
  const [id = -1] = sent.splice(0).map((message) => ('id' in message ? message.id : -1));
  pipeline.receive({ kind: 'answer', id, status: 200, headers: {} }, undefined);
  pipeline.receive({ kind: 'answer', id: id + 1, status: 200, headers: {} }, undefined);
  pipeline.received();
  pipeline.received();
  outbox.flush();
  assert.deepEqual(sent, [{ kind: 'written', answers: 2 }]);
});
