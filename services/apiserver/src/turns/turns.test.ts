import { strict as assert } from 'node:assert';
import { beforeEach, test } from 'node:test';
import { StatusError } from '@holdfast/machinery';
import { type Clock, createSystemClock, nextTurn } from '@holdfast/platform';
import type { User } from '../authentication/identity.ts';
import { ANSWERS_UNDER_WAY_MAX, PAUSED_WORK_MAX, TURN_MS, WAITING_PER_FLOW_MAX } from '../limits.ts';
import { AnswersUnderWay } from './answers-under-way.ts';
import type { Flow } from './fair-queue.ts';
import { Turns } from './turns.ts';

const GREEDY = { name: 'greedy', groups: [] };
const OTHER = { name: 'other', groups: [] };
const NODE = { name: 'system:node:a', groups: ['system:nodes'] };

/** Nodes have a level of their own. */
const flowOf = ({ name }: User): Flow =>
  name === NODE.name
    ? { level: 'node-high', key: name, weight: 4, waitingMax: WAITING_PER_FLOW_MAX }
    : { level: 'workload', key: name, weight: 1, waitingMax: WAITING_PER_FLOW_MAX };

const begin = (user: User, of: Turns = turns): Promise<void> | undefined => of.begin(user, flowOf(user));

let now: number;
let turns: Turns;
let order: string[];
beforeEach(() => {
  now = 0;
  order = [];
  const clock: Clock = { ...createSystemClock(), monotonic: () => now };
  turns = new Turns(clock);
});

/** A request that keeps the thread for so long. */
async function request(user: { name: string; groups: string[] }, ms: number): Promise<void> {
  const turn = begin(user);
  if (turn !== undefined) await turn;
  now += ms;
  order.push(user.name);
}

test('while turns are short every request starts at once', async () => {
  for (let n = 0; n < 100; n++) {
    assert.equal(begin(n % 2 === 0 ? GREEDY : OTHER), undefined);
    now += TURN_MS / 200;
  }
  await nextTurn();
  assert.equal(turns.waiting, 0);
});

test('another user waits for at most one of many long requests of one user', async () => {
  const all = Array.from({ length: 30 }, () => request(GREEDY, 500));
  all.push(request(OTHER, 1), request(NODE, 1));
  await Promise.all(all);
  assert.deepEqual(order.slice(0, 3), ['greedy', 'system:node:a', 'other']);
  assert.equal(order.length, 32);
});

test('a new user is served between many waiting requests', async () => {
  const all = Array.from({ length: 10 }, () => request(GREEDY, 500));
  await nextTurn();
  const before = order.length;
  all.push(request(OTHER, 1));
  await Promise.all(all);
  assert.ok(order.indexOf('other') <= before + 1, order.join());
});

test('the waiting requests of a user share its turn', async () => {
  const all = Array.from({ length: 40 }, () => request(GREEDY, 1));
  assert.equal(order.length, TURN_MS, 'the first turn');
  await nextTurn();
  const second = order.length - TURN_MS;
  assert.ok(second >= TURN_MS && second <= TURN_MS + 3, `${second} in the second turn`);
  await Promise.all(all);
});

test('a shared turn ends when many answers are in flight, before a large request and before another user', async () => {
  const answers = new AnswersUnderWay();
  const turns = new Turns({ ...createSystemClock(), monotonic: () => now }, answers);
  const flow = flowOf(GREEDY);
  const started: string[] = [];
  const start = async (user: User, name: string, isLarge = false): Promise<void> => {
    const turn = turns.begin(user, flow, isLarge);
    if (turn !== undefined) await turn;
    if (name !== 'spends') answers.sent();
    now += name === 'spends' ? TURN_MS : 0;
    started.push(name);
  };
  const all = [start(GREEDY, 'spends'), start(GREEDY, 'first'), start(GREEDY, 'large', true), start(OTHER, 'other')];
  all.push(start(OTHER, 'another'), ...Array.from({ length: 40 }, () => start(OTHER, 'more')));
  await nextTurn();
  assert.deepEqual(started, ['spends', 'first']);
  await nextTurn();
  assert.deepEqual(started, ['spends', 'first', 'large']);
  await nextTurn();
  assert.deepEqual(started.slice(3, 5), ['other', 'another']);
  const inFlight = started.length - 1;
  assert.ok(inFlight >= ANSWERS_UNDER_WAY_MAX && inFlight <= ANSWERS_UNDER_WAY_MAX + 3, `${inFlight} answers`);
  answers.end();
  await Promise.all(all);
});

test('long work yields between its parts', async () => {
  const work = async (): Promise<void> => {
    for (let part = 0; part < 20; part++) {
      const turn = turns.goOn(GREEDY);
      if (turn !== undefined) await turn;
      now += TURN_MS;
      order.push('part');
    }
  };
  const all = [work(), request(OTHER, 1)];
  await Promise.all(all);
  assert.ok(order.indexOf('other') <= 2, order.join());
});

test('a user with too many waiting requests gets a 429; started work and other users do not', async () => {
  const all = Array.from({ length: WAITING_PER_FLOW_MAX + 1 }, () => request(GREEDY, 20));
  assert.throws(
    () => begin(GREEDY),
    (error) => error instanceof StatusError && error.code === 429 && error.body.details?.retryAfterSeconds === 1,
  );
  const waits = [turns.goOn(GREEDY), begin(OTHER)];
  assert.ok(waits.every((each) => each instanceof Promise));
  await Promise.all([...all, ...waits]);
  assert.equal(turns.waiting, 0);
});

test('a user with many short requests yields to others', async () => {
  let now = 0;
  const turns = new Turns({ ...createSystemClock(), monotonic: () => now });
  const run = async (name: string, ms: number): Promise<void> => {
    const waiting = begin({ name, groups: [] }, turns);
    if (waiting !== undefined) await waiting;
    now += ms;
  };
  let served = 0;
  let isOver = false;
  const floods = Array.from({ length: 20 }, async () => {
    while (!isOver) {
      await run('flood', 0.4);
      served += 1;
      await nextTurn();
    }
  });
  await run('long', 100);
  while (served < 50) await nextTurn();
  const before = served;
  await run('other', 0.4);
  isOver = true;
  await Promise.all(floods);
  assert.ok(served - before < 1_000, `${served - before} short requests were served first`);
});

test('large requests start only while few are paused, and all of them finish', async () => {
  let paused = 0;
  let most = 0;
  const large = async (name: string): Promise<void> => {
    const user = { name, groups: [] };
    const turn = turns.begin(user, flowOf(user), true);
    if (turn !== undefined) await turn;
    for (let part = 0; part < 5; part++) {
      now += TURN_MS;
      paused += 1;
      most = Math.max(most, paused);
      await turns.goOn(user);
      paused -= 1;
    }
  };
  await Promise.all(Array.from({ length: 30 }, (_, n) => large(`user-${n}`)));
  assert.ok(most <= PAUSED_WORK_MAX + 1, `${most} were paused at one time`);
  assert.equal(turns.waiting, 0);
});

test('while many answers are in flight nothing starts; then nodes start before users with many requests', async () => {
  const answers = new AnswersUnderWay();
  const turns = new Turns({ ...createSystemClock(), monotonic: () => 0 }, answers);
  for (let n = 0; n < ANSWERS_UNDER_WAY_MAX; n++) answers.sent();
  const begun: string[] = [];
  const all = [GREEDY, GREEDY, NODE].map(async (user) => {
    await begin(user, turns);
    begun.push(user.name);
  });
  await nextTurn();
  await nextTurn();
  assert.deepEqual([begun, turns.waiting], [[], 3]);
  answers.written(ANSWERS_UNDER_WAY_MAX);
  await Promise.all(all);
  assert.deepEqual([begun[0], begun.length, turns.waiting], [NODE.name, 3, 0]);
});

test('a turn that ends while many answers are in flight starts no request', async () => {
  const answers = new AnswersUnderWay();
  const turns = new Turns({ ...createSystemClock(), monotonic: () => 0 }, answers);
  assert.equal(begin(GREEDY, turns), undefined);
  for (let n = 0; n < ANSWERS_UNDER_WAY_MAX; n++) answers.sent();
  const waits = begin(OTHER, turns);
  await nextTurn();
  await nextTurn();
  assert.equal(turns.waiting, 1);
  answers.written(1);
  await waits;
  assert.equal(turns.waiting, 0);
});
