import assert from 'node:assert/strict';
import { test } from 'node:test';
import { type Clock, createSilentLog, createSystemClock, type Log } from '@holdfast/platform';
import { CLEANUP_LOOK_FIRST_MS, CLEANUP_LOOK_LONGEST_MS } from '../limits.ts';
import { WebhookCallError } from '../service-calls/port.ts';
import { CORALS, coral, coralDefinition, define, definitionUrl, schemaWith, until } from '../testing/custom.ts';
import { startTestApi, type TestApi } from '../testing/fixture.ts';

const SECOND = CORALS.replace('/v1/', '/v2/');
const CORAL_DEFINITION = definitionUrl('corals.reef.example.com');

interface Review {
  readonly request: { readonly uid: string; readonly desiredAPIVersion: string; readonly objects: readonly Item[] };
}
interface Item {
  readonly apiVersion: string;
  readonly kind: string;
  readonly metadata: Readonly<Record<string, unknown>>;
  readonly spec: Readonly<Record<string, unknown>>;
}
type Answer = (review: Review) => unknown;

/** v1 has `host`, v2 has `address`. */
function converted({ request }: Review): Item[] {
  return request.objects.map((object) => {
    const { host, address } = object.spec;
    const spec = request.desiredAPIVersion.endsWith('v2') ? { address: host ?? address } : { host: address ?? host };
    return { ...object, apiVersion: request.desiredAPIVersion, spec };
  });
}

const success = (review: Review, convertedObjects: unknown = converted(review)): unknown => ({
  apiVersion: 'apiextensions.k8s.io/v1',
  kind: 'ConversionReview',
  response: { uid: review.request.uid, result: { status: 'Success' }, convertedObjects },
});

async function withWebhook(
  use: (api: TestApi, answerWith: (answer: Answer) => void, calls: Review[]) => Promise<void>,
  overrides: Parameters<typeof startTestApi>[0] = {},
) {
  const calls: Review[] = [];
  let answer: Answer = success;
  const api = await startTestApi({
    ...overrides,
    webhooks: {
      call: (_target, body) => {
        const review = JSON.parse(body) as Review;
        calls.push(review);
        return new Promise((resolve) => resolve(JSON.stringify(answer(review))));
      },
    },
  });
  const definition = {
    versions: [
      {
        name: 'v1',
        served: true,
        storage: true,
        schema: schemaWith({ host: { type: 'string' } }),
        selectableFields: [{ jsonPath: '.spec.host' }],
      },
      {
        name: 'v2',
        served: true,
        storage: false,
        schema: schemaWith({ address: { type: 'string' } }),
        selectableFields: [{ jsonPath: '.spec.address' }],
      },
    ],
    conversion: {
      strategy: 'Webhook',
      webhook: { conversionReviewVersions: ['v1'], clientConfig: { url: 'https://hook.example.com/convert' } },
    },
  };
  try {
    await define(api, coralDefinition({ definition }));
    await use(api, (next) => (answer = next), calls);
  } finally {
    await api.stop();
  }
}

const second = (name: string, spec: unknown): unknown => ({
  ...(coral(name, spec) as object),
  apiVersion: 'reef.example.com/v2',
});

test('a webhook converts objects that are read and written in another version than the stored one', async () => {
  await withWebhook(async (api, _, calls) => {
    assert.deepEqual((await api.call('POST', SECOND, { body: second('a', { address: 'x' }) })).at('spec'), {
      address: 'x',
    });
    const stored = await api.store.get('reef.example.com/corals/default/a');
    assert.match(stored.object?.value ?? '', /"apiVersion":"reef.example.com\/v1".*"spec":\{"host":"x"\}/);
    assert.deepEqual((await api.call('GET', `${CORALS}/a`)).at('spec'), { host: 'x' });
    await api.call('POST', CORALS, { body: coral('b', { host: 'y' }) });
    const before = calls.length;
    const list = await api.call('GET', SECOND);
    assert.deepEqual([list.at('items.0.spec'), list.at('items.1.spec')], [{ address: 'x' }, { address: 'y' }]);
    // A cached conversion causes no call.
    assert.equal(calls.length, before + 1);
    await api.call('GET', SECOND);
    assert.equal(calls.length, before + 1);
    const patched = await api.call('PATCH', `${SECOND}/b`, { body: { spec: { address: 'z' } } });
    assert.deepEqual(patched.at('spec'), { address: 'z' });
    const same = await api.call('PATCH', `${SECOND}/b`, { body: { spec: { address: 'z' } } });
    assert.equal(same.at('metadata.resourceVersion'), patched.at('metadata.resourceVersion'));
    const events = await api.watch(`${SECOND}?watch=1&resourceVersion=0`, 2);
    assert.deepEqual(
      events.map(({ object }) => (object as Item).spec),
      [{ address: 'x' }, { address: 'z' }],
    );
    assert.equal((await api.call('DELETE', `${SECOND}/b`)).status, 200);
  });
});

test('an invalid or failed webhook answer is reported to the caller, and affects no other request', async () => {
  await withWebhook(async (api, answerWith) => {
    await api.call('POST', CORALS, { body: coral('a', { host: 'x' }) });
    const says = async (answer: Answer): Promise<string> => {
      answerWith(answer);
      const refused = await api.call('GET', `${SECOND}/a`);
      assert.equal(refused.status, 500);
      return refused.textAt('message').replace('conversion webhook for reef.example.com/v1, Kind=Coral ', '');
    };
    const renamed = (review: Review): unknown =>
      success(
        review,
        converted(review).map((each) => ({ ...each, metadata: { ...each.metadata, name: 'b' } })),
      );
    assert.equal(await says(renamed), 'returned invalid converted object at index 0: must have the same name: a != b');
    assert.equal(await says((review) => success(review, [])), 'returned 0 objects, expected 1');
    assert.equal(
      await says((review) => success(review, review.request.objects)),
      'returned invalid converted object at index 0: invalid groupVersion (expected reef.example.com/v2, received reef.example.com/v1)',
    );
    assert.equal(
      await says(() => ({})),
      'failed: expected webhook response of apiextensions.k8s.io/v1, Kind=ConversionReview',
    );
    assert.match(
      await says((review) => success({ request: { ...review.request, uid: 'other' } })),
      /^failed: expected response.uid="[^"]+", got "other"$/,
    );
    assert.equal(
      await says((review) => ({
        apiVersion: 'apiextensions.k8s.io/v1',
        kind: 'ConversionReview',
        response: { uid: review.request.uid, result: { status: 'Failed', message: 'not today' } },
      })),
      'failed: not today',
    );
    assert.equal(
      await says(() => {
        throw new WebhookCallError('connection refused');
      }),
      'failed: connection refused',
    );
    const [event] = await api.watch(`${SECOND}?watch=1&resourceVersion=0`, 1);
    assert.equal(event?.type, 'ERROR');
    const metrics = (await api.call('GET', '/metrics')).body as string;
    for (const type of ['call', 'malformed_response', 'partial_response', 'invalid_converted_object']) {
      const series = `apiserver_conversion_webhook_request_total{result="failure",failure_type="conversion_${type}_failure"}`;
      assert.ok(metrics.includes(series), type);
    }
    assert.equal((await api.call('GET', `${CORALS}/a`)).status, 200);
    answerWith(success);
    assert.deepEqual((await api.call('GET', `${SECOND}/a`)).at('spec'), { address: 'x' });
  });
});

test('a webhook may change only labels and annotations in the metadata', async () => {
  await withWebhook(async (api, answerWith) => {
    await api.call('POST', CORALS, { body: coral('a', { host: 'x' }) });
    answerWith((review) =>
      success(
        review,
        converted(review).map((each) => ({
          ...each,
          metadata: { ...each.metadata, labels: { by: 'hook' }, finalizers: ['example.com/hold'] },
        })),
      ),
    );
    const shown = await api.call('GET', `${SECOND}/a`);
    assert.deepEqual([shown.at('metadata.labels'), shown.at('metadata.finalizers')], [{ by: 'hook' }, undefined]);
  });
});

test('fields of a converted version select in lists, pages, deletions and watches', async () => {
  await withWebhook(async (api, _, calls) => {
    for (const [name, host] of [
      ['a', 'x'],
      ['b', 'y'],
      ['c', 'x'],
      ['d', 'y'],
    ] as const) {
      await api.call('POST', CORALS, { body: coral(name, { host }) });
    }
    const selected = `${SECOND}?fieldSelector=spec.address%3Dx`;
    assert.deepEqual((await api.call('GET', selected)).names(), ['a', 'c']);
    const first = await api.call('GET', `${selected}&limit=1`);
    assert.deepEqual(first.names(), ['a']);
    const rest = await api.call('GET', `${selected}&limit=1&continue=${first.textAt('metadata.continue')}`);
    assert.deepEqual(rest.names(), ['c']);
    assert.equal((await api.call('GET', `${SECOND}?fieldSelector=spec.host%3Dx`)).status, 400);
    // All of this has converted each object once.
    assert.equal(calls.length, 1);
    const revision = first.textAt('metadata.resourceVersion');
    const watching = api.watch(`${selected}&watch=1&resourceVersion=${revision}`, 4);
    const patch = (name: string, address: string) =>
      api.call('PATCH', `${SECOND}/${name}`, { body: { spec: { address } } });
    await patch('b', 'z');
    await patch('b', 'x');
    await api.call('PATCH', `${CORALS}/b`, { body: { metadata: { labels: { a: 'b' } } } });
    await patch('a', 'w');
    await api.call('DELETE', `${SECOND}/d`);
    await api.call('DELETE', `${SECOND}/c`);
    assert.deepEqual(
      (await watching).map(({ type, object }) => [
        type,
        (object as Item).metadata['name'],
        (object as Item).spec['address'],
      ]),
      [
        ['ADDED', 'b', 'x'],
        ['MODIFIED', 'b', 'x'],
        ['DELETED', 'a', 'x'],
        ['DELETED', 'c', 'x'],
      ],
    );
    const initial = await api.watch(`${selected}&watch=1&resourceVersion=0`, 1);
    assert.deepEqual(
      initial.map(({ type, object }) => [type, (object as Item).metadata['name']]),
      [['ADDED', 'b']],
    );
    await api.call('DELETE', `${SECOND}?fieldSelector=spec.address%3Dx`);
    assert.deepEqual((await api.call('GET', SECOND)).names(), ['a']);
  });
});

test('a watch of converted objects ends with its client, before its first event and while it waits for one', async () => {
  await withWebhook(async (api) => {
    const openWatches = async (): Promise<string | undefined> =>
      /^apiserver_registered_watchers\{resource="corals[^"]*"\} (\d+)$/m.exec(
        String((await api.call('GET', '/metrics')).body),
      )?.[1];
    for (const waits of [false, true]) {
      const { raw } = await api.call('GET', `${SECOND}?watch=1`);
      assert.ok(raw.body.kind === 'watch');
      const frames = raw.body.frames[Symbol.asyncIterator]();
      const next = waits ? frames.next() : undefined;
      assert.equal(await openWatches(), '1');
      void frames.return?.();
      await until(async () => (await openWatches()) === '0');
      if (next !== undefined) assert.equal((await next).done, true);
    }
  });
});

test('many large objects are converted in batches with bounded answers', async () => {
  await withWebhook(async (api, _, calls) => {
    const host = 'x'.repeat(300_000);
    for (const name of ['a', 'b', 'c', 'd', 'e', 'f', 'g'])
      await api.call('POST', CORALS, { body: coral(name, { host }) });
    const list = await api.call('GET', SECOND);
    assert.equal(list.names().length, 7);
    assert.deepEqual(
      calls.map(({ request }) => request.objects.length),
      [3, 3, 1],
    );
  });
});

test('a definition is deleted although its webhook is gone, whatever the stored version', async () => {
  await withWebhook(async (api, answerWith) => {
    await api.call('POST', CORALS, { body: coral('first', { host: 'x' }) });
    await storeSecond(api);
    assert.equal((await api.call('POST', SECOND, { body: second('second', { address: 'y' }) })).status, 201);
    for (const [name, version] of [
      ['first', 'v1'],
      ['second', 'v2'],
    ]) {
      const { object } = await api.store.get(`reef.example.com/corals/default/${name}`);
      assert.match(object?.value ?? '', new RegExp(`"apiVersion":"reef.example.com/${version}"`));
    }
    answerWith(() => {
      throw new WebhookCallError('no endpoints available');
    });
    await api.call('DELETE', CORAL_DEFINITION);
    await until(async () => (await api.call('GET', CORAL_DEFINITION)).status === 404);
  });
});

test('the condition of a definition reports why an instance cannot be deleted, and the others are deleted', async () => {
  await withWebhook(async (api, answerWith) => {
    await api.call('POST', CORALS, { body: coral('plain', { host: 'x' }) });
    const metadata = { name: 'held', finalizers: ['example.com/hold'] };
    await api.call('POST', CORALS, { body: coral('held', { host: 'y' }, { metadata }) });
    await storeSecond(api);
    answerWith(() => {
      throw new WebhookCallError('no endpoints available');
    });
    await api.call('DELETE', CORAL_DEFINITION);
    // It has to be written, in the version that is stored now, to be marked.
    assert.deepEqual(await deletionFailure(api), [
      'True',
      'could not issue all deletes: conversion webhook for reef.example.com/v1, Kind=Coral failed: no endpoints available',
    ]);
    assert.equal((await api.store.get('reef.example.com/corals/default/plain')).object, undefined);
    answerWith(success);
    await until(async () => (await api.call('GET', `${SECOND}/held`)).at('metadata.deletionTimestamp') !== undefined);
    await api.call('PATCH', `${SECOND}/held`, { body: { metadata: { finalizers: null } } });
    await until(async () => (await api.call('GET', CORAL_DEFINITION)).status === 404);
  });
});

test('an instance that cannot be deleted is retried after a pause, also when the reason changes each time', async () => {
  const pauses = new Set<() => void>();
  const warnings: string[] = [];
  const log: Log = { ...createSilentLog(), child: () => log, warn: (message) => void warnings.push(message) };
  const system = createSystemClock();
  const timer: Clock['timer'] = (delayMs, fire) => {
    if (delayMs < CLEANUP_LOOK_FIRST_MS || delayMs > CLEANUP_LOOK_LONGEST_MS) return system.timer(delayMs, fire);
    pauses.add(fire);
    return { cancel: () => pauses.delete(fire) };
  };
  const use: Parameters<typeof withWebhook>[0] = async (api, answerWith, calls) => {
    const metadata = { name: 'held', finalizers: ['example.com/hold'] };
    await api.call('POST', CORALS, { body: coral('held', { host: 'y' }, { metadata }) });
    await storeSecond(api);
    answerWith(() => {
      throw new WebhookCallError(`failure ${calls.length}`);
    });
    await api.call('DELETE', CORAL_DEFINITION);
    await deletionFailure(api);
    const failures = warnings.filter((message) => message === 'instances of a definition could not be deleted');
    assert.equal(failures.length, 1, 'the first failure is the one that the condition reports');
    const before = calls.length;
    for (let look = 0; look < 20; look++) await api.call('GET', CORAL_DEFINITION);
    assert.equal(calls.length, before);
    for (const fire of pauses) fire();
    await until(async () => calls.length > before);
  };
  await withWebhook(use, { clock: { ...system, timer }, log });
});

/** From now on v2 is stored. */
async function storeSecond(api: TestApi): Promise<void> {
  const storage = (index: number, value: boolean) => ({
    op: 'replace',
    path: `/spec/versions/${index}/storage`,
    value,
  });
  const headers = { 'content-type': 'application/json-patch+json' };
  const body = [storage(0, false), storage(1, true)];
  assert.equal((await api.call('PATCH', CORAL_DEFINITION, { headers, body })).status, 200);
}

/** Status and message, once instances could not be deleted. */
async function deletionFailure(api: TestApi): Promise<readonly unknown[]> {
  let found: readonly unknown[] = [];
  await until(async () => {
    const conditions = (await api.call('GET', CORAL_DEFINITION)).at('status.conditions') as readonly Record<
      string,
      string
    >[];
    const { status, reason, message } = conditions.find(({ type }) => type === 'Terminating') ?? {};
    found = [status, message];
    return reason === 'InstanceDeletionFailed';
  });
  return found;
}
