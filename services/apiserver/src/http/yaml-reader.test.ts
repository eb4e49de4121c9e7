import { strict as assert } from 'node:assert';
import { EventEmitter } from 'node:events';
import { afterEach, beforeEach, test } from 'node:test';
import type { Worker } from 'node:worker_threads';
import type { ApiRequest } from '@holdfast/client';
import { StatusError } from '@holdfast/machinery';
import { createSystemClock } from '@holdfast/platform';
import { afterThisTurn } from '@holdfast/platform/event-loop';
import { LONG_YAML_BYTES, YAML_TOKENS_MAX } from '../limits.ts';
import { startTestApi, type TestApi } from '../testing/fixture.ts';
import type { Flow } from '../turns/fair-queue.ts';
import { bodyText, readYamlText, yamlFormat } from './body.ts';
import { parseYamlText, YamlSyntaxError } from './yaml.ts';
import { YamlReader } from './yaml-reader.ts';

const flowOf = (key: string): Flow => ({ level: 'global-default', key, weight: 1, waitingMax: 100 });
const USER = flowOf('u');
const FILLER = `# ${'x'.repeat(LONG_YAML_BYTES)}\n`;
const MAPS = '/api/v1/namespaces/default/configmaps';

const request = (body: string): ApiRequest => ({
  method: 'POST',
  path: MAPS,
  query: new URLSearchParams(),
  headers: { 'content-type': 'application/yaml' },
  body,
});
const documentOf = (of: ApiRequest) => readYamlText(bodyText(of), yamlFormat(of));

let reader: YamlReader;
beforeEach(() => {
  reader = new YamlReader(createSystemClock());
});
afterEach(() => reader.stop());

test('the thread returns the same result as a local parse', async () => {
  const texts = [
    'a: 1\nb: [yes, 1.0, 1e3, 0x10, 22:22, 2001-01-01]\nc: &x {d: e}\nf: *x\n',
    'a: 1.5\nb: !!set {x, y}\n',
    'a: 1\na: 2\n',
    '',
    '"text"',
    '{"a": 1.0, "b": 12345678901234567890}',
  ];
  for (const text of texts) {
    const sent = request(text);
    await reader.readAhead(USER, sent);
    assert.deepEqual(documentOf(sent).value, parseYamlText(text).value, text);
    assert.deepEqual(documentOf(sent).duplicates, parseYamlText(text).duplicates, text);
  }
});

test('a syntax error rejects only the request of its document', async () => {
  const wrong = request('a: b: c\n');
  await reader.readAhead(USER, wrong);
  assert.throws(() => documentOf(wrong), YamlSyntaxError);
  const long = request('- a\n'.repeat(YAML_TOKENS_MAX));
  await reader.readAhead(USER, long);
  assert.throws(
    () => documentOf(long),
    (error) => error instanceof StatusError && error.code === 413,
  );
});

test('a crashed thread rejects its text, and the next text gets a new thread', async () => {
  let started = 0;
  const start = (): Worker => {
    started += 1;
    const isFirst = started === 1;
    const worker = new EventEmitter();
    return Object.assign(worker, {
      unref: () => {},
      terminate: async () => 0,
      postMessage: () =>
        afterThisTurn(() =>
          isFirst ? worker.emit('exit', 1) : worker.emit('message', { kind: 'text', text: '{}', duplicates: [] }),
        ),
    }) as unknown as Worker;
  };
  const own = new YamlReader(createSystemClock(), start);
  const [first, second] = [request('a: 1'), request('a: 2')];
  await Promise.all([own.readAhead(USER, first), own.readAhead(USER, second)]);
  assert.throws(
    () => documentOf(first),
    (error) => error instanceof StatusError && error.code === 413,
  );
  assert.deepEqual(documentOf(second).value, {});
  assert.equal(started, 2);
  await own.stop();
});

test('users take turns on the thread', async () => {
  const order: string[] = [];
  const read = (name: string) => reader.readAhead(flowOf(name), request(`${FILLER}a: 1`)).then(() => order.push(name));
  await Promise.all([...Array.from({ length: 8 }, () => read('greedy')), read('other')]);
  assert.ok(order.indexOf('other') <= 2, order.join());
});

test('waiting requests are rejected when the server stops', async () => {
  const sent = [request(`${FILLER}a: 1`), request(`${FILLER}a: 2`)];
  const reads = sent.map((each) => reader.readAhead(USER, each));
  await reader.stop();
  await Promise.all(reads);
  for (const each of sent) {
    assert.throws(
      () => documentOf(each),
      (error) => error instanceof StatusError && error.code === 503,
    );
  }
});

let api: TestApi;
for (const [what, method, type, path] of [
  ['created', 'POST', 'application/yaml', MAPS],
  ['applied', 'PATCH', 'application/apply-patch+yaml', `${MAPS}/long?fieldManager=m`],
] as const) {
  test(`an object is ${what} by a long YAML body, and an error in it is reported`, async () => {
    api = await startTestApi();
    const send = (text: string) =>
      api.server.handle({
        ...request(`${FILLER}${text}`),
        method,
        path: path.split('?')[0] ?? '',
        query: new URLSearchParams(path.split('?')[1]),
        headers: { authorization: 'Bearer admin', 'content-type': type },
      });
    const done = await send('apiVersion: v1\nkind: ConfigMap\nmetadata: {name: long}\ndata: {k: v}\n');
    assert.equal(done.status, 201);
    assert.equal((await api.call('GET', `${MAPS}/long`)).at('data.k'), 'v');
    assert.equal((await send('a: b: c\n')).status, 400);
    await api.stop();
  });
}
