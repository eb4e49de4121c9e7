import { strict as assert } from 'node:assert';
import { afterEach, beforeEach, test } from 'node:test';
import { OperatorError } from '@holdfast/platform';
import { OutcomeUnknown, type Store, StoreUnavailable, writingBy } from '@holdfast/store';
import { createMemoryStore } from '@holdfast/store/memory';
import { configMapBody, createTestApi, startTestApi, type TestApi } from '../testing/fixture.ts';

const CONFIG_MAPS = '/api/v1/namespaces/default/configmaps';

/** A store whose next calls can be made to fail. */
interface Faulty {
  store: Store;
  write: ((real: Store['write']) => ReturnType<Store['write']>) | undefined;
  unavailable: boolean;
}

let faults: Faulty;
let api: TestApi;
beforeEach(async () => {
  const real = createMemoryStore();
  const refuse = (): void => {
    if (faults.unavailable) throw new StoreUnavailable('no connection');
  };
  const store: Store = {
    ...writingBy(real, async (operations, options) => {
      refuse();
      // The server writes objects of its own at any time; the fault is for those of the test.
      const fault = operations.some(({ key }) => key.startsWith('core/configmaps/')) ? faults.write : undefined;
      if (fault !== undefined) faults.write = undefined;
      return fault === undefined ? real.write(operations, options) : fault(() => real.write(operations, options));
    }),
    get: async (key) => (refuse(), real.get(key)),
    currentRevision: async () => (refuse(), real.currentRevision()),
    health: async () => (faults.unavailable ? ['no connection to the store'] : []),
  };
  faults = { store, write: undefined, unavailable: false };
  api = await startTestApi({ store });
});
afterEach(() => api.stop());

test('a server that starts during a store outage waits, and starts when the store serves', async (t) => {
  const real = createMemoryStore();
  let failures = 3;
  const store: Store = {
    ...faults.store,
    list: async (prefix, options) => {
      if (failures-- > 0) throw new StoreUnavailable('no connection');
      return real.list(prefix, options);
    },
    get: (key) => real.get(key),
    write: (operations, options) => real.write(operations, options),
    changes: (options) => real.changes(options),
    currentRevision: () => real.currentRevision(),
  };
  const late = await startTestApi({ store });
  t.after(() => late.stop());
  assert.ok(failures < 0);
  assert.equal((await late.call('POST', CONFIG_MAPS, { body: configMapBody('x') })).status, 201);
});

test('a server decides nothing before its cache is loaded', async (t) => {
  const real = createMemoryStore();
  const loading = Promise.withResolvers<void>();
  const list: Store['list'] = (prefix, options) => loading.promise.then(() => real.list(prefix, options));
  const starting = createTestApi({ store: { ...faults.store, list } });
  t.after(() => {
    loading.resolve();
    return starting.stop();
  });
  const started = starting.server.start();
  const early = await starting.call('POST', CONFIG_MAPS, { body: configMapBody('x') });
  assert.deepEqual([early.status, early.at('message')], [503, 'the server is starting; try again']);
  loading.resolve();
  await started;
  assert.equal((await starting.call('POST', CONFIG_MAPS, { body: configMapBody('x') })).status, 201);
});

test('a server does not wait for a halted store: the start fails with the next step', async () => {
  const store = createMemoryStore();
  store.halt('two histories');
  const isHalted = (error: unknown): boolean =>
    error instanceof OperatorError && error.code === 'STORE_HALTED' && /store adopt/.test(error.nextStep);
  await assert.rejects(startTestApi({ store }), isHalted);
});

test('an unavailable store is 503 with Retry-After for reads and writes, and readiness reports the reason', async () => {
  faults.unavailable = true;
  for (const [method, body] of [
    ['GET', undefined],
    ['POST', configMapBody('x')],
  ] as const) {
    const answer = await api.call(method, CONFIG_MAPS, { body });
    assert.deepEqual([answer.status, answer.at('reason')], [503, 'ServiceUnavailable']);
    assert.equal(answer.headers['retry-after'], '1');
  }
  const ready = await api.call('GET', '/readyz', { as: 'anonymous' });
  assert.equal(ready.status, 500);
  assert.match(String(ready.body), /\[-\]etcd failed: no connection to the store/);
  assert.equal((await api.call('GET', '/livez', { as: 'anonymous' })).status, 200);
  faults.unavailable = false;
  assert.equal((await api.call('POST', CONFIG_MAPS, { body: configMapBody('x') })).status, 201);
});

test('a write with unknown outcome is 504 OutcomeUnknown, without Retry-After', async () => {
  faults.write = async (real) => {
    await real([]);
    throw new OutcomeUnknown('w-1');
  };
  const answer = await api.call('POST', CONFIG_MAPS, { body: configMapBody('x') });
  assert.deepEqual([answer.status, answer.at('reason')], [504, 'Timeout']);
  assert.deepEqual(
    [answer.at('details.causes.0.reason'), answer.headers['retry-after']],
    ['OutcomeUnknown', undefined],
  );
});

test('a patch that lost the race is retried on the newer state; a replacement with a revision is a conflict', async () => {
  const created = await api.call('POST', CONFIG_MAPS, { body: configMapBody('x', { a: '1' }) });
  const overtake = async (): Promise<void> => {
    const { object } = await api.store.get('core/configmaps/default/x');
    assert.ok(object !== undefined);
    const value = object.value.replace('"a":"1"', '"a":"1","other":"y"');
    await api.store.write([{ kind: 'update', key: object.key, value, expectedRevision: object.revision }]);
  };
  faults.write = async (real) => {
    await overtake();
    return real([]);
  };
  const patched = await api.call('PATCH', `${CONFIG_MAPS}/x`, { body: { data: { b: '2' } } });
  assert.deepEqual(patched.at('data'), { a: '1', other: 'y', b: '2' });
  faults.write = async (real) => {
    await api.call('PATCH', `${CONFIG_MAPS}/x`, { body: { data: { c: '3' } } });
    return real([]);
  };
  const current = await api.call('GET', `${CONFIG_MAPS}/x`);
  const replaced = await api.call('PUT', `${CONFIG_MAPS}/x`, { body: { ...Object(current.body), data: {} } });
  assert.deepEqual([replaced.status, replaced.at('reason')], [409, 'Conflict']);
  assert.ok(created.status === 201);
});
