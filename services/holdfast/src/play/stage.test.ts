import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { ApiHandler, ApiRequest } from '@holdfast/client';
import { FAULTS } from '../../../../test/sim/hunt/kinds.ts';
import { createPlayHandler, PLAY_PATH } from './api.ts';
import { readStep } from './step.ts';
import { makeStage } from './testing.ts';
import { Hands, type PlayTime } from './time.ts';

const asked = (method: ApiRequest['method'], path: string, body?: object): ApiRequest => ({
  method,
  path,
  query: new URLSearchParams(),
  headers: { authorization: 'Bearer x', 'content-type': 'application/json' },
  ...(body === undefined ? {} : { body: JSON.stringify(body) }),
});

const valueOf = async (handle: ApiHandler, request: ApiRequest) => {
  const { status, body } = await handle(request);
  return { status, value: body.kind === 'json' ? (body.value() as Readonly<Record<string, unknown>>) : {} };
};

/** An API server that says of everybody the same. */
function makeApi(review: { readonly status: number; readonly allowed: boolean }, time?: PlayTime) {
  const made = makeStage();
  const seen: ApiRequest[] = [];
  const handle = createPlayHandler({
    stage: made.stage,
    hands: new Hands(made.clock, time),
    handle: (request) => {
      seen.push(request);
      const value = { status: { allowed: review.allowed } };
      return Promise.resolve({
        status: review.status,
        headers: {},
        body: { kind: 'json', bytes: () => Buffer.from(JSON.stringify(value)), value: () => value },
      });
    },
  });
  return { ...made, handle, seen };
}

const ADVANCE_PATH = `${PLAY_PATH}/advance`;
const ADMIN = { status: 201, allowed: true };

test('a kill ends a component without its consent, and the end of the fault starts it again', async () => {
  const { stage, clock, told, cast } = makeStage();
  const scheduler = cast('scheduler', 'master');
  await scheduler.start();
  const { id, endsAt } = stage.begin({ do: 'crash', target: 'scheduler', forMs: 5000 });
  assert.equal(endsAt, '1970-01-01T00:00:05Z');
  assert.throws(() => stage.begin({ do: 'pause', target: 'scheduler' }), /killed already/);
  clock.skip(5000);
  assert.equal(stage.end(id), false, 'it has ended by itself');
  await scheduler.stop();
  assert.deepEqual(told, ['scheduler starts', 'scheduler is gone', 'scheduler starts again', 'scheduler stops']);
});

test('a component that is down when the cluster stops starts once more, so that it ends what it left', async () => {
  const { stage, told, cast } = makeStage();
  const node = cast('node-1', 'node');
  await node.start();
  stage.begin({ do: 'kubelet-down', target: 'node-1' });
  await stage.stop();
  await node.stop();
  assert.deepEqual(told.slice(-2), ['node-1 starts again', 'node-1 stops']);
  assert.deepEqual(stage.faults(), []);
});

test('a fault of the whole cluster strikes every component, and faults are bounded', () => {
  const { stage, cast } = makeStage();
  cast('node-1', 'node');
  cast('scheduler', 'master');
  for (let i = 0; i < 64; i++) stage.begin({ do: 'bus-outage' });
  assert.throws(() => stage.begin({ do: 'bus-outage' }), /64 faults last already/);
  stage.endAll();
  assert.throws(() => stage.begin({ do: 'isolate', target: 'scheduler' }), /no such target here: use node-1/);
  assert.throws(() => stage.begin({ do: 'cut-master', target: 'node-1' }), /use scheduler/);
});

test('steps are those of scenario files; what an embedded cluster cannot do is refused with the reason', () => {
  assert.deepEqual(readStep('{"do":"slow-link","target":"node-1","delay":"2s","for":"1m"}'), {
    do: 'slow-link',
    target: 'node-1',
    forMs: 60_000,
    value: 2000,
  });
  for (const [text, message] of [
    ['[]', /JSON object/],
    ['{"do":"fly"}', /no fault "fly".*kubectl/],
    ['{"do":"power-loss","target":"node-1"}', /cannot do power-loss.*kubelet-down/],
    ['{"do":"clock-jump","target":"node-1"}', /cannot do clock-jump/],
    ['{"do":"isolate"}', /the name of a node/],
    ['{"do":"isolate","target":"node-1","at":"1s"}', /no field "at"/],
    ['{"do":"isolate","target":"node-1","for":"2h"}', /at most 3600s/],
    ['{"do":"lossy-link","target":"node-1","loss":2}', /"loss" is a share/],
    ['{"do":"bus-outage","target":"node-1"}', /has no target/],
    ['x'.repeat(5000), /smaller/],
  ] as const) {
    assert.throws(() => readStep(text), message, text.slice(0, 60));
  }
});

test('every fault of the simulator is played or refused: there is no second vocabulary', async () => {
  const { kindOf, PLAYED_KINDS, REFUSED_KINDS, isPlayed } = await import('./kinds.ts');
  const { KIND_WORDS } = await import('../../../../test/scenario/kinds.ts');
  for (const [name, { targets }] of Object.entries(FAULTS)) {
    assert.notEqual(isPlayed(name), REFUSED_KINDS.has(name), name);
    if (!isPlayed(name)) continue;
    assert.equal(kindOf(name).targets, targets, name);
    assert.equal(kindOf(name).says, KIND_WORDS[name].says);
    assert.equal(kindOf(name).value, KIND_WORDS[name].value?.name);
  }
  for (const name of Object.keys(PLAYED_KINDS)) assert.ok(Object.hasOwn(FAULTS, name), name);
});

test('the API begins, lists and ends faults, and asks the API server for each request whether the caller may', async () => {
  const { handle, seen, cast } = makeApi(ADMIN);
  cast('node-1', 'node');
  const begun = await valueOf(handle, asked('POST', `${PLAY_PATH}/faults`, { do: 'isolate', target: 'node-1' }));
  assert.equal(begun.status, 201);
  assert.deepEqual(begun.value['kind'], 'Fault');
  const { value } = await valueOf(handle, asked('GET', PLAY_PATH));
  assert.deepEqual(value['targets'], [{ name: 'node-1', kind: 'node' }]);
  assert.equal((value['faults'] as unknown[]).length, 1);
  const one = `${PLAY_PATH}/faults/${String(begun.value['id'])}`;
  assert.equal((await valueOf(handle, asked('DELETE', one))).status, 200);
  assert.equal((await valueOf(handle, asked('DELETE', one))).status, 404);
  const advance = await valueOf(handle, asked('POST', ADVANCE_PATH, { duration: '1s' }));
  assert.equal(advance.status, 409);
  assert.match(String(advance.value['message']), /clock of its machine: start one with --play --clock=virtual/);
  assert.equal(seen.length, 5, 'each is reviewed');
  assert.match(String(seen[0]?.body), /"path":"\/holdfast.io\/play\/v1\/faults","verb":"post"/);
  assert.equal(seen[0]?.headers['authorization'], 'Bearer x');
});

test('time passes when an administrator says so, and the answer comes when it has passed', async () => {
  const passed: number[] = [];
  const made = makeApi(ADMIN, {
    advance: async (ms) => {
      passed.push(ms);
      made.clock.skip(ms);
    },
  });
  const advance = async (body: object) => (await valueOf(made.handle, asked('POST', ADVANCE_PATH, body))).value;
  const { value: before } = await valueOf(made.handle, asked('GET', PLAY_PATH));
  assert.deepEqual(before['clock'], { kind: 'virtual', now: '1970-01-01T00:00:00Z' });
  assert.deepEqual(await advance({ duration: '5m' }), {
    kind: 'Advance',
    apiVersion: 'play.holdfast.io/v1',
    clock: { kind: 'virtual', now: '1970-01-01T00:05:00Z' },
  });
  for (const [body, message] of [
    [{ duration: '2h' }, /"duration" is a time such as "30s", at most 3600s/],
    [{ duration: 'soon' }, /"duration" is a time/],
    [{ duration: '1s', by: 'x' }, /one field, "duration": not "by"/],
  ] as const) {
    assert.match(String((await advance(body))['message']), message);
  }
  assert.deepEqual(passed, [300_000]);
});

test('one request at a time advances the time, and one that ends in a failure does not block the next', async () => {
  const { promise, reject } = Promise.withResolvers<void>();
  const { handle } = makeApi(ADMIN, { advance: () => promise });
  const body = { duration: '1s' };
  const first = handle(asked('POST', ADVANCE_PATH, body));
  const second = await valueOf(handle, asked('POST', ADVANCE_PATH, body));
  assert.equal(second.status, 409);
  assert.match(String(second.value['message']), /advances the time already/);
  reject(new Error('the cluster has stopped'));
  await assert.rejects(first, /has stopped/);
  await assert.rejects(handle(asked('POST', ADVANCE_PATH, body)), /has stopped/);
});

test('nobody else begins a fault: strangers, other users, and forms of other sites', async () => {
  const step = { do: 'isolate', target: 'node-1' };
  const post = asked('POST', `${PLAY_PATH}/faults`, step);
  for (const [review, status] of [
    [{ status: 401, allowed: false }, 401],
    [{ status: 201, allowed: false }, 403],
  ] as const) {
    const { handle, stage, cast } = makeApi(review);
    cast('node-1', 'node');
    assert.equal((await handle(post)).status, status);
    assert.deepEqual(stage.faults(), []);
  }
  const { handle, stage, cast } = makeApi(ADMIN);
  cast('node-1', 'node');
  const form = { ...post, headers: { ...post.headers, 'content-type': 'text/plain' } };
  assert.equal((await handle(form)).status, 415);
  assert.deepEqual(stage.faults(), []);
});
