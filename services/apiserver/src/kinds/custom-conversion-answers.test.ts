import assert from 'node:assert/strict';
import type { ServerResponse } from 'node:http';
import { createServer } from 'node:https';
import { afterEach, beforeEach, test } from 'node:test';
import { type Clock, createSystemClock } from '@holdfast/platform';
import { CONVERSION_MESSAGE_CHARS_MAX, CONVERSION_TIMEOUT_MS, WEBHOOK_ANSWER_BYTES_MAX } from '../limits.ts';
import { CORALS, coral, coralDefinition, define, schemaWith, until } from '../testing/custom.ts';
import { configMapBody, startTestApi, type TestApi } from '../testing/fixture.ts';
import { tls } from '../testing/https.ts';

/**
 * Conversion webhooks that lie or fail over TLS: the caller gets an error, it is counted, and nothing else is affected.
 */

const SECOND = CORALS.replace('/v1/', '/v2/');

interface Item {
  readonly metadata: Readonly<Record<string, unknown>>;
  readonly spec: Readonly<Record<string, unknown>>;
}
interface Review {
  readonly request: { readonly uid: string; readonly desiredAPIVersion: string; readonly objects: readonly Item[] };
}
/** Writes the answer by itself. */
type Respond = (response: ServerResponse, review: Review) => void;

const reviewOf = ({ request }: Review, objects: readonly unknown[], result: object = { status: 'Success' }): string =>
  JSON.stringify({
    apiVersion: 'apiextensions.k8s.io/v1',
    kind: 'ConversionReview',
    response: { uid: request.uid, result, convertedObjects: objects },
  });

const changedBy =
  (change: (item: Item) => unknown): Respond =>
  (response, review) => {
    const { objects, desiredAPIVersion: apiVersion } = review.request;
    response.end(
      reviewOf(
        review,
        objects.map((each) => change({ ...each, apiVersion } as Item)),
      ),
    );
  };
const withMetadata = (metadata: (item: Item) => object): Respond =>
  changedBy((item) => ({ ...item, metadata: { ...item.metadata, ...metadata(item) } }));
const honest = changedBy((item) => item);

/** The deadline of a conversion passes on request. */
function createDeadlines(): { readonly clock: Clock; readonly passed: () => void; readonly count: () => number } {
  const system = createSystemClock();
  const pending = new Set<() => void>();
  const timer: Clock['timer'] = (delayMs, fire) => {
    if (delayMs < CONVERSION_TIMEOUT_MS) return system.timer(delayMs, fire);
    if (delayMs === CONVERSION_TIMEOUT_MS) pending.add(fire);
    return { cancel: () => pending.delete(fire) };
  };
  return { clock: { ...system, timer }, passed: () => pending.forEach((fire) => fire()), count: () => pending.size };
}

let api: TestApi;
let respond: Respond;
let asked = 0;
const deadlines = createDeadlines();
const server = createServer({ cert: tls.certificate, key: tls.key }, (request, response) => {
  const chunks: Buffer[] = [];
  request.on('data', (chunk: Buffer) => chunks.push(chunk));
  request.on('end', () => {
    asked += 1;
    respond(response, JSON.parse(Buffer.concat(chunks).toString()) as Review);
  });
});

beforeEach(async () => {
  respond = honest;
  asked = 0;
  await new Promise<void>((done) => void server.listen(0, '127.0.0.1', done));
  const address = server.address();
  const url = `https://127.0.0.1:${typeof address === 'object' ? address?.port : 0}/convert`;
  api = await startTestApi({ clock: deadlines.clock });
  const schema = schemaWith({ host: { type: 'string' } });
  const clientConfig = { url, caBundle: Buffer.from(tls.certificate).toString('base64') };
  await define(
    api,
    coralDefinition({
      definition: {
        versions: [
          { name: 'v1', served: true, storage: true, schema },
          { name: 'v2', served: true, storage: false, schema },
        ],
        conversion: { strategy: 'Webhook', webhook: { conversionReviewVersions: ['v1'], clientConfig } },
      },
    }),
  );
  await api.call('POST', CORALS, {
    body: coral('a', { host: 'x' }, { metadata: { name: 'a', labels: { colour: 'red' } } }),
  });
});
afterEach(async () => {
  await api.stop();
  server.closeAllConnections();
  await new Promise((done) => server.close(done));
});

const FROM = 'conversion webhook for reef.example.com/v1, Kind=Coral ';

/** Returns a reader's error without its common prefix. */
async function told(answer: Respond): Promise<string> {
  respond = answer;
  const refused = await api.call('GET', `${SECOND}/a`);
  assert.equal(refused.status, 500, JSON.stringify(refused.body));
  assert.ok(refused.textAt('message').startsWith(FROM), refused.textAt('message').slice(0, 200));
  return refused.textAt('message').slice(FROM.length);
}

async function failures(type: string): Promise<number> {
  const metrics = (await api.call('GET', '/metrics')).body as string;
  const series = `apiserver_conversion_webhook_request_total{result="failure",failure_type="conversion_${type}_failure"} `;
  const line = metrics.split('\n').find((each) => each.startsWith(series));
  return Number(line?.slice(series.length) ?? 0);
}

/** The version that needs no webhook, other kinds, and the store are as they were. */
async function nothingElseIsHarmed(): Promise<void> {
  assert.deepEqual((await api.call('GET', `${CORALS}/a`)).at('spec'), { host: 'x' });
  assert.deepEqual((await api.call('GET', CORALS)).names(), ['a']);
  assert.equal((await api.call('GET', '/readyz')).status, 200);
  respond = honest;
  const whole = await api.call('GET', `${SECOND}/a`);
  assert.deepEqual([whole.status, whole.at('metadata.labels')], [200, { colour: 'red' }]);
}

test('a slow webhook fails its callers at the deadline, and others are served meanwhile', async () => {
  const waiting = told(() => {});
  await until(() => Promise.resolve(asked === 1));
  const other = await api.call('POST', '/api/v1/namespaces/default/configmaps', { body: configMapBody('c') });
  assert.equal(other.status, 201);
  assert.equal((await api.call('GET', `${CORALS}/a`)).status, 200);
  assert.equal(deadlines.count(), 1);
  deadlines.passed();
  assert.match(await waiting, /^failed: Post "https:.*\/convert\?timeout=30s": context deadline exceeded$/);
  assert.equal(await failures('call'), 1);
  await nothingElseIsHarmed();
  assert.equal(deadlines.count(), 0);
});

test('a webhook with an endless answer fails at the deadline', async () => {
  const begun = Promise.withResolvers<void>();
  const waiting = told((response) => {
    response.write('{"apiVersion":');
    begun.resolve();
  });
  await begun.promise;
  deadlines.passed();
  assert.match(await waiting, /context deadline exceeded$/);
  await nothingElseIsHarmed();
});

test('a huge answer is refused while it is received', async () => {
  const piece = Buffer.alloc(64 * 1024, ' ');
  const message = await told((response) => {
    const more = (): void => {
      if (response.destroyed) return;
      response.write(piece, more);
    };
    more();
  });
  assert.equal(message, `failed: the answer has more than ${WEBHOOK_ANSWER_BYTES_MAX} bytes`);
  assert.equal(await failures('call'), 1);
  await nothingElseIsHarmed();
});

test('an answer that is truncated, or is not JSON, converts nothing', async () => {
  const cut = await told((response, review) => {
    const text = reviewOf(review, review.request.objects);
    response.setHeader('content-length', String(text.length));
    response.write(text.slice(0, 40), () => response.destroy());
  });
  assert.match(cut, /^failed: .*unexpected EOF$/);
  const half = await told((response, review) => response.end(reviewOf(review, review.request.objects).slice(0, -30)));
  assert.equal(half, 'failed: the answer is not JSON');
  assert.equal(await told((response) => response.end()), 'failed: the answer is not JSON');
  assert.deepEqual([await failures('call'), await failures('malformed_response')], [1, 2]);
  await nothingElseIsHarmed();
});

test('an answer with a different object, version or kind, or a non-object, is refused', async () => {
  const cases: readonly (readonly [Respond, string])[] = [
    [withMetadata(() => ({ name: 'b' })), 'must have the same name: a != b'],
    [withMetadata(() => ({ namespace: 'kube-system' })), 'must have the same namespace: default != kube-system'],
    [
      changedBy((item) => ({ ...item, apiVersion: 'reef.example.com/v3' })),
      'invalid groupVersion (expected reef.example.com/v2, received reef.example.com/v3)',
    ],
    [changedBy((item) => ({ ...item, kind: 'Secret' })), 'invalid kind (expected Coral, received Secret)'],
    [changedBy(() => 'nothing'), 'it is not an object'],
    [changedBy(() => null), 'it is not an object'],
  ];
  for (const [answer, why] of cases) {
    assert.equal(await told(answer), `returned invalid converted object at index 0: ${why}`);
  }
  const uid = await told(withMetadata(() => ({ uid: 'other' })));
  assert.match(uid, /^returned invalid converted object at index 0: must have the same UID: \S+ != other$/);
  assert.equal(await failures('invalid_converted_object'), cases.length + 1);
  await nothingElseIsHarmed();
});

test('invalid labels and annotations are refused', async () => {
  const cases: readonly (readonly [object, string])[] = [
    [{ labels: { a: 1 } }, 'metadata.labels[a] must be a string, but is int64 in converted object'],
    [{ labels: ['a'] }, 'invalid metadata.labels of type []interface {} in converted object'],
    [
      { annotations: { a: { b: 'c' } } },
      'metadata.annotations[a] must be a string, but is map[string]interface {} in converted object',
    ],
  ];
  for (const [metadata, why] of cases) {
    assert.equal(await told(withMetadata(() => metadata)), `returned invalid metadata in object at index 0: ${why}`);
  }
  assert.match(
    await told(withMetadata(() => ({ labels: { a: 'not a value' } }))),
    /^returned invalid metadata in object at index 0: metadata\.labels: Invalid value: "not a value": /,
  );
  assert.equal(await failures('invalid_converted_object'), cases.length + 1);
  await nothingElseIsHarmed();
});

test('too few, too many and no objects are refused', async () => {
  for (const [objects, count] of [
    [[], 0],
    [[{}, {}], 2],
  ] as const) {
    assert.equal(
      await told((response, review) => response.end(reviewOf(review, objects))),
      `returned ${count} objects, expected 1`,
    );
  }
  assert.equal(await failures('partial_response'), 2);
  await nothingElseIsHarmed();
});

test('the message of a failure is bounded, however long the text of the webhook is', async () => {
  const long = 'x'.repeat(1_000_000);
  const answers: readonly Respond[] = [
    (response, review) => response.end(reviewOf(review, [], { status: 'Failed', message: long })),
    withMetadata(() => ({ name: long })),
    changedBy((item) => ({ ...item, apiVersion: long })),
    withMetadata(() => ({ labels: Object.fromEntries(Array.from({ length: 10_000 }, (_, i) => [`${i} !`, 'a'])) })),
  ];
  for (const answer of answers) {
    const { length } = await told(answer);
    assert.ok(length <= CONVERSION_MESSAGE_CHARS_MAX + 3, String(length));
  }
  await nothingElseIsHarmed();
});

test('an answer with a hundred thousand levels is refused', async () => {
  const deep = `${'['.repeat(100_000)}${']'.repeat(100_000)}`;
  const withDeep = (path: 'spec' | 'apiVersion'): Respond => {
    return (response, review) => {
      const [object] = review.request.objects;
      const apiVersion = review.request.desiredAPIVersion;
      const text = reviewOf(review, [{ ...object, apiVersion, [path]: 'DEEP' }]);
      response.end(text.replace('"DEEP"', deep));
    };
  };
  for (const path of ['spec', 'apiVersion'] as const) {
    assert.equal(
      await told(withDeep(path)),
      'returned invalid converted object at index 0: it is nested more than 200 levels deep',
    );
  }
  await nothingElseIsHarmed();
});

test('a write that cannot be converted is refused, and nothing is stored', async () => {
  respond = withMetadata(() => ({ name: 'b' }));
  const body = { ...(coral('n', { host: 'y' }) as object), apiVersion: 'reef.example.com/v2' };
  assert.equal((await api.call('POST', SECOND, { body })).status, 500);
  assert.equal((await api.call('PATCH', `${SECOND}/a`, { body: { spec: { host: 'z' } } })).status, 500);
  await nothingElseIsHarmed();
});
