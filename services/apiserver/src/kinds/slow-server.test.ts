import assert from 'node:assert/strict';
import { afterEach, beforeEach, test } from 'node:test';
import { createSystemClock } from '@holdfast/platform';
import type { Store } from '@holdfast/store';
import { createMemoryStore } from '@holdfast/store/memory';
import { CONSISTENT_READ_TIMEOUT_MS } from '../limits.ts';
import { CORALS, coral, coralDefinition, define, definitionUrl, schemaWith, until } from '../testing/custom.ts';
import { startTestApi, type TestApi } from '../testing/fixture.ts';

/** Two API servers on one store, of which one learns of changes late: definitions are the same for both when it matters. */

const NAME = 'corals.reef.example.com';
const DEPTH = { depth: { type: 'integer' } };

/** The same store, whose changes wait while `hold` is called for. */
function gated(base: Store): { readonly store: Store; readonly hold: () => void; readonly release: () => void } {
  let gate = Promise.resolve();
  let open = (): void => {};
  const changes: Store['changes'] = async function* (options) {
    for await (const some of base.changes(options)) {
      await gate;
      yield some;
    }
  };
  const store = new Proxy(base, {
    get: (target, name) => {
      if (name === 'changes') return changes;
      const value: unknown = Reflect.get(target, name);
      return typeof value === 'function' ? value.bind(target) : value;
    },
  });
  return {
    store,
    hold: () => {
      const { promise, resolve } = Promise.withResolvers<void>();
      gate = promise;
      open = resolve;
    },
    release: () => open(),
  };
}

/** Waits for the newest state end immediately on request. */
function impatientClock() {
  const clock = createSystemClock();
  const state = { isImpatient: false };
  const timer: typeof clock.timer = (delayMs, fire) => {
    if (delayMs >= 10_000) return { cancel: () => {} };
    return clock.timer(state.isImpatient && delayMs === CONSISTENT_READ_TIMEOUT_MS ? 0 : delayMs, fire);
  };
  return { clock: { ...clock, timer }, state };
}

const impatient = impatientClock();
let gate: ReturnType<typeof gated>;
let quick: TestApi;
let slow: TestApi;

beforeEach(async () => {
  impatient.state.isImpatient = false;
  const base = createMemoryStore();
  gate = gated(base);
  quick = await startTestApi({ store: base });
  slow = await startTestApi({ store: gate.store, clock: impatient.clock });
  await define(quick, coralDefinition({ spec: DEPTH }));
  await until(async () => (await slow.call('GET', CORALS)).status === 200);
});
afterEach(async () => {
  gate.release();
  await slow.server.stop();
  await quick.stop();
});

const replaceSchema = (spec: Readonly<Record<string, unknown>>) =>
  quick.call('PATCH', definitionUrl(NAME), {
    body: [{ op: 'replace', path: '/spec/versions/0/schema', value: schemaWith(spec) }],
    headers: { 'content-type': 'application/json-patch+json' },
  });

test('a write through a server that lags keeps a field of the new schema', async () => {
  await quick.call('POST', CORALS, { body: coral('old', { depth: 1 }) });
  gate.hold();
  assert.equal((await replaceSchema({ ...DEPTH, width: { type: 'integer' } })).status, 200);
  const writes = [
    slow.call('POST', CORALS, { body: coral('new', { depth: 1, width: 2 }) }),
    slow.call('PATCH', `${CORALS}/old`, { body: { spec: { width: 3 } } }),
  ];
  gate.release();
  const answers = await Promise.all(writes);
  assert.deepEqual(
    answers.map(({ status }) => status),
    [201, 200],
  );
  for (const api of [quick, slow]) {
    const list = await api.call('GET', CORALS);
    assert.deepEqual([list.at('items.0.spec.width'), list.at('items.1.spec.width')], [2, 3]);
  }
});

test('a removed rule grants nothing, and a removed field is pruned, by both servers', async () => {
  gate.hold();
  assert.equal((await replaceSchema({ depth: { type: 'integer', maximum: 5 } })).status, 200);
  const tooDeep = slow.call('POST', CORALS, { body: coral('deep', { depth: 9 }) });
  gate.release();
  assert.equal((await tooDeep).status, 422);
  gate.hold();
  assert.equal((await replaceSchema({ width: { type: 'integer' } })).status, 200);
  const pruned = slow.call('POST', CORALS, { body: coral('wide', { depth: 1, width: 2 }) });
  gate.release();
  assert.deepEqual((await pruned).at('spec'), { width: 2 });
});

test('a lagging server refuses a write for a deleted definition', async () => {
  gate.hold();
  await quick.call('DELETE', definitionUrl(NAME));
  await until(async () => (await quick.call('GET', definitionUrl(NAME))).status === 404);
  const late = slow.call('POST', CORALS, { body: coral('late') });
  gate.release();
  assert.equal((await late).status, 404);
  const { objects } = await quick.store.list('reef.example.com/corals/');
  assert.deepEqual(objects, []);
});

test('a server that does not observe the change in time refuses the write, and stores nothing', async () => {
  gate.hold();
  assert.equal((await replaceSchema({ ...DEPTH, width: { type: 'integer' } })).status, 200);
  impatient.state.isImpatient = true;
  const refused = await slow.call('POST', CORALS, { body: coral('never', { width: 2 }) });
  assert.equal(refused.status, 503, JSON.stringify(refused.body));
  impatient.state.isImpatient = false;
  gate.release();
  assert.deepEqual((await quick.call('GET', CORALS)).names(), []);
});

test('watches of the changed kind, and only they, end on both servers', async () => {
  const opened = async (api: TestApi, url: string): Promise<AsyncIterable<unknown>> => {
    const { raw } = await api.call('GET', `${url}?watch=1`);
    assert.ok(raw.body.kind === 'watch');
    return raw.body.frames;
  };
  const watch = async (api: TestApi): Promise<readonly string[]> => {
    const ended: string[] = [];
    const follow = async (name: string, frames: AsyncIterable<unknown>): Promise<void> => {
      for await (const _ of frames);
      ended.push(name);
    };
    const [corals, configMaps] = [await opened(api, CORALS), await opened(api, '/api/v1/configmaps')];
    void follow('corals', corals);
    void follow('configmaps', configMaps);
    return ended;
  };
  const ended = [await watch(quick), await watch(slow)];
  await replaceSchema({ ...DEPTH, width: { type: 'integer' } });
  await until(async () => ended.every((each) => each.includes('corals')));
  assert.deepEqual(ended, [['corals'], ['corals']]);
});
