import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { ApiHandler, ApiRequest, ApiResponse } from '@holdfast/client';
import { type Clock, createSilentLog, createSystemClock, nextTurn } from '@holdfast/platform';
import { ANSWERS_UNDER_WAY_MAX, REFUSALS_PAUSED_MAX } from '../limits.ts';
import { AnswersUnderWay } from '../turns/answers-under-way.ts';
import { Answering } from './answering.ts';
import type { FrontMessage, PipelineMessage, RequestMessage } from './messages.ts';
import { carried, Outbox } from './outbox.ts';

const REQUEST: RequestMessage = {
  kind: 'request',
  id: 1,
  method: 'GET',
  url: '/api/v1/a%20b?watch=1&x=%3D',
  headers: { accept: 'application/json' },
  text: undefined,
  remoteAddress: '127.0.0.1',
  clientCertificate: undefined,
};

interface Said {
  readonly kind: string;
  readonly text: string;
}

/** Sleepers wake on request. */
function clockOfSleepers(): { readonly clock: Clock; readonly sleeps: (() => void)[] } {
  const sleeps: (() => void)[] = [];
  const sleep = (): Promise<void> => new Promise((resolve) => void sleeps.push(resolve));
  return { clock: { ...createSystemClock(), sleep }, sleeps };
}

function answering(handle: ApiHandler, clock = createSystemClock(), answers = new AnswersUnderWay()) {
  const said: Said[] = [];
  const outbox = new Outbox<PipelineMessage>(({ messages, bytes }) => {
    for (const message of messages) {
      const text = message.kind === 'piece' ? `${message.piece.length}` : (carried(message, bytes)?.toString() ?? '');
      said.push({ kind: message.kind, text });
    }
  });
  const side = new Answering({ handle, outbox, log: createSilentLog(), clock, answers });
  const receive = (message: FrontMessage): void => side.receive(message, undefined);
  return { said, side, receive, kinds: () => said.map(({ kind }) => kind) };
}

const json = (value: unknown): ApiResponse => ({
  status: 200,
  headers: {},
  body: { kind: 'json', bytes: () => Buffer.from(JSON.stringify(value)), value: () => value },
});

async function settle(): Promise<void> {
  for (let turn = 0; turn < 5; turn++) await nextTurn();
}

test('a request reaches the pipeline with decoded path and query, and its answer is sent unchanged', async () => {
  const seen: ApiRequest[] = [];
  const { said, receive } = answering(async (request) => {
    seen.push(request);
    return json({ ok: true });
  });
  receive(REQUEST);
  await settle();
  assert.equal(seen[0]?.path, '/api/v1/a b');
  assert.equal(seen[0].query.get('x'), '=');
  assert.deepEqual(said, [{ kind: 'answer', text: '{"ok":true}' }]);
});

test('a long text is sent in pieces that wait for their client', async () => {
  const text = 'x'.repeat(300_000);
  const { said, receive, kinds } = answering(async () => ({
    status: 200,
    headers: {},
    body: { kind: 'text', contentType: 'text/plain', text },
  }));
  receive(REQUEST);
  await settle();
  assert.deepEqual(kinds(), ['begin', 'chunk', 'chunk']);
  for (let piece = 0; piece < 3; piece++) {
    receive({ kind: 'taken', id: 1, bytes: 100_000 });
    await settle();
  }
  assert.equal(said.map((each) => each.text).join(''), text);
  assert.equal(kinds().at(-1), 'end');
});

test('an invalid method, path or answer gives a Status', async () => {
  const { said, receive } = answering(() => Promise.reject(new Error('bug')));
  receive({ ...REQUEST, id: 1, method: 'BREW' });
  receive({ ...REQUEST, id: 2, url: '/%zz' });
  receive({ ...REQUEST, id: 3 });
  await settle();
  assert.deepEqual(
    said.map(({ text }) => (JSON.parse(text) as { code: number }).code),
    [405, 400, 500],
  );
});

/** Frames without end, until the signal aborts. */
async function* frames(signal: AbortSignal | undefined, ended: () => void, bytes = 1_000) {
  try {
    while (signal?.aborted !== true) {
      yield { bytes: () => Buffer.alloc(bytes, 'x'), value: () => ({ type: 'ADDED' as const, object: {} }) };
      await nextTurn();
    }
  } finally {
    ended();
  }
}

test('a watch pauses while its client does not read, resumes when it reads, and ends when it disconnects', async () => {
  let hasEnded = false;
  const { said, receive, kinds } = answering(async ({ signal }) => ({
    status: 200,
    headers: {},
    body: { kind: 'watch', frames: frames(signal, () => (hasEnded = true), 64 * 1024) },
  }));
  receive(REQUEST);
  await settle();
  await settle();
  assert.deepEqual(kinds(), ['begin', 'chunk', 'chunk']);
  receive({ kind: 'taken', id: 1, bytes: 64 * 1024 });
  await settle();
  // A reading client gets more at a time.
  assert.deepEqual(kinds(), ['begin', 'chunk', 'chunk', 'chunk', 'chunk']);
  receive({ kind: 'gone', id: 1 });
  await settle();
  assert.ok(hasEnded);
  assert.equal(said.at(-1)?.kind, 'cut');
});

test('a change is sent once for a group of its watchers, in order with other changes', async () => {
  const batches: (readonly PipelineMessage[])[] = [];
  const outbox = new Outbox<PipelineMessage>(({ messages }) => batches.push(messages));
  const change = { bytes: () => CHANGE, value: () => ({ type: 'ADDED' as const, object: {} }) };
  const other = { bytes: () => OTHER, value: () => ({ type: 'ADDED' as const, object: {} }) };
  const seen = Promise.withResolvers<void>();
  async function* watch(path: string) {
    await seen.promise;
    if (path !== '/2') yield change;
    yield other;
    await new Promise(() => {});
  }
  const handle: ApiHandler = async ({ path }) => ({
    status: 200,
    headers: {},
    body: { kind: 'watch', frames: watch(path) },
  });
  const side = new Answering({
    handle,
    outbox,
    log: createSilentLog(),
    clock: createSystemClock(),
    answers: new AnswersUnderWay(),
  });
  for (let id = 1; id <= 70; id++) side.receive({ ...REQUEST, id, url: `/${id}` }, undefined);
  await settle();
  batches.length = 0;
  seen.resolve();
  await settle();
  const chunks = batches.flat().filter((message) => message.kind === 'chunk');
  const heard = new Map<number, (number | undefined)[]>();
  for (const { id, also, length } of chunks) {
    for (const each of [id, ...also]) heard.set(each, [...(heard.get(each) ?? []), length]);
  }
  assert.deepEqual(
    [...heard].toSorted(([a], [b]) => a - b),
    Array.from({ length: 70 }, (_, i) => [i + 1, i === 1 ? [OTHER.length] : [CHANGE.length, OTHER.length]]),
  );
  assert.ok(chunks.length < 14, `${chunks.length} messages`);
  assert.ok(batches.length > 2, 'the front began before the last watcher was told');
});

const CHANGE = Buffer.from('a change');
const OTHER = Buffer.from('another change');

test('HEAD of an endless answer sends only the head and ends the stream', async () => {
  const called: string[] = [];
  const chunks: AsyncIterable<Uint8Array> = {
    [Symbol.asyncIterator]: () => ({
      next: async () => {
        called.push('next');
        return { done: false, value: Buffer.alloc(10) };
      },
      return: async () => {
        called.push('return');
        return { done: true, value: undefined };
      },
    }),
  };
  const { receive, kinds } = answering(async () => ({ status: 200, headers: {}, body: { kind: 'stream', chunks } }));
  receive({ ...REQUEST, method: 'HEAD' });
  await settle();
  assert.deepEqual([kinds(), called], [['begin', 'end'], ['return']]);
});

test('a watch ends cleanly when the server stops, and a later one ends at once', async () => {
  let ended = 0;
  const { side, receive, kinds } = answering(async ({ signal }) => ({
    status: 200,
    headers: {},
    body: { kind: 'watch', frames: frames(signal, () => (ended += 1), 10) },
  }));
  receive(REQUEST);
  await settle();
  side.stop();
  receive({ ...REQUEST, id: 2 });
  await settle();
  assert.equal(ended, 2);
  assert.equal(kinds().filter((kind) => kind === 'end').length, 2);
});

test('a handler closes its own connection when its client disconnects', async () => {
  const { promise: closed, resolve } = Promise.withResolvers<void>();
  const answered = Promise.withResolvers<ApiResponse>();
  const { receive, kinds } = answering(() => answered.promise);
  receive(REQUEST);
  receive({ kind: 'gone', id: 1 });
  answered.resolve({ ...json({}), status: 101, upgrade: (connection) => connection.once('close', resolve) });
  await closed;
  await settle();
  assert.deepEqual(kinds(), ['cut']);
});

test('an upgraded connection carries bytes both ways', async () => {
  const { said, side, receive } = answering(async () => ({
    ...json({}),
    status: 101,
    upgrade: (connection) => void connection.on('data', (bytes: Buffer) => connection.end(`got ${bytes.toString()}`)),
  }));
  receive(REQUEST);
  await settle();
  side.receive({ kind: 'data', id: 1 }, Buffer.from('hello'));
  side.receive({ kind: 'ended', id: 1 }, undefined);
  await settle();
  const kinds = said.map(({ kind }) => kind);
  assert.deepEqual(kinds.slice(0, 1), ['upgrade']);
  assert.equal(said.find(({ kind }) => kind === 'chunk')?.text, 'got hello');
  assert.equal(kinds.at(-1), 'cut');
});

test('whole answers count as in flight until the front has written them', async () => {
  const answers = new AnswersUnderWay();
  const { receive } = answering(async () => json({}), createSystemClock(), answers);
  for (let id = 1; id <= ANSWERS_UNDER_WAY_MAX; id++) receive({ ...REQUEST, id });
  await settle();
  assert.equal(answers.isFull, true);
  receive({ kind: 'written', answers: 1 });
  assert.equal(answers.isFull, false);
});

test('after the stop of the front no caller waits for unwritten answers', async () => {
  const answers = new AnswersUnderWay();
  let isRoom = false;
  answers.onRoom(() => (isRoom = true));
  const { receive, side } = answering(async () => json({}), createSystemClock(), answers);
  for (let id = 1; id <= ANSWERS_UNDER_WAY_MAX; id++) receive({ ...REQUEST, id });
  await settle();
  side.abandon();
  assert.deepEqual([answers.isFull, isRoom], [false, true]);
});

test('a 429 refusal is delayed, other answers are not', async () => {
  const { clock, sleeps } = clockOfSleepers();
  const statuses = [429, 200];
  const { said, receive } = answering(async () => ({ ...json({}), status: statuses.shift() ?? 0 }), clock);
  receive({ ...REQUEST, id: 1 });
  receive({ ...REQUEST, id: 2 });
  await settle();
  assert.deepEqual([said.length, sleeps.length], [1, 1]);
  sleeps[0]?.();
  await settle();
  assert.equal(said.length, 2);
});

test('when too many refusals are delayed, further ones are sent at once', async () => {
  const { clock, sleeps } = clockOfSleepers();
  const { said, receive } = answering(async () => ({ ...json({}), status: 429 }), clock);
  for (let id = 1; id <= REFUSALS_PAUSED_MAX + 3; id++) receive({ ...REQUEST, id });
  await settle();
  assert.deepEqual([said.length, sleeps.length], [3, REFUSALS_PAUSED_MAX]);
});
