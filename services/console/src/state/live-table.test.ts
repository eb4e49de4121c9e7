import assert from 'node:assert/strict';
import { test } from 'node:test';
import { type Api, ApiFailure, type Asked } from './api.ts';
import { LiveTable, type LiveTableDeps } from './live-table.ts';
import { columns, row, tableOf } from './testing.ts';

type Step = (query: Readonly<Record<string, string>>) => unknown;

/** An API whose answers are written down: objects for lists, texts for watches, errors for refusals. */
function scripted(steps: readonly Step[], more: Pick<LiveTableDeps, 'newest'> = {}) {
  const queries: string[] = [];
  let at = 0;
  const next = async (asked: Asked | undefined): Promise<unknown> => {
    const query = asked?.query ?? {};
    queries.push(
      query['watch'] === '1' ? `watch ${query['resourceVersion']}` : `list ${query['continue'] ?? ''}`.trim(),
    );
    const step = steps[at++];
    if (step === undefined) {
      table.stop();
      throw new Error('the script is over');
    }
    const answer = step(query);
    if (answer instanceof Error) throw answer;
    return answer;
  };
  const api: Api = {
    json: async <T>(_path: string, asked?: Asked) => (await next(asked)) as T,
    text: async () => '',
    stream: async (_path, asked) => {
      const lines = (await next(asked)) as readonly string[];
      return (async function* () {
        yield* lines;
      })();
    },
  };
  const pauses: number[] = [];
  const table = new LiveTable({
    api,
    path: '/api/v1/pods',
    query: {},
    pause: async (ms) => void pauses.push(ms),
    changed: () => {},
    ...more,
  });
  return { table, queries, pauses };
}

const list = (revision: string, names: readonly string[], token?: string) => () => ({
  metadata: { resourceVersion: revision, ...(token === undefined ? {} : { continue: token }) },
  columnDefinitions: columns(['Name', 'Status']),
  rows: names.map((name) => row(name)),
});
const event = (type: string, revision: string, name: string): string =>
  `${JSON.stringify({ type, object: { metadata: { resourceVersion: revision }, rows: [row(name)] } })}\n`;

test('lists page by page, watches from there, and a watch that ends is continued where it was', async () => {
  const { table, queries } = scripted([
    list('7', ['a'], 'more'),
    list('7', ['b']),
    () => [event('ADDED', '8', 'c'), event('DELETED', '9', 'a'), event('BOOKMARK', '12', '')],
    () => [],
  ]);
  await table.run();
  assert.deepEqual(queries, ['list', 'list more', 'watch 7', 'watch 12', 'watch 12']);
  assert.deepEqual(
    [...table.model.rows.values()].map(({ name }) => name),
    ['b', 'c'],
  );
});

const GONE = `${JSON.stringify({ type: 'ERROR', object: { kind: 'Status', code: 410 } })}\n`;
for (const [how, answer] of [
  ['as an event', () => [GONE]],
  ['as an answer', () => new ApiFailure(410, 'too old')],
] as const) {
  test(`a revision that the server forgot, told ${how}, is listed anew, and what is gone disappears`, async () => {
    const { table, queries } = scripted([list('7', ['a']), answer, list('30', ['b'])]);
    await table.run();
    assert.deepEqual(queries, ['list', 'watch 7', 'list', 'watch 30']);
    assert.deepEqual(
      [...table.model.rows.values()].map(({ name }) => name),
      ['b'],
    );
  });
}

test('a moment of the past is listed once, in place of what was shown', async () => {
  const before = tableOf(['Name'], [row('old')]);
  const paths: string[] = [];
  const api: Api = {
    json: async <T>(path: string, asked?: Asked) => {
      paths.push(`${path} ${asked?.query?.['time']}`);
      return list('7', ['a'])() as T;
    },
    text: async () => '',
    stream: async () => assert.fail('nothing is followed'),
  };
  const deps = { api, path: '/api/v1/pods', query: {}, pause: async () => {}, changed: () => {} };
  const table = new LiveTable({ ...deps, at: '2026-01-01T00:00:00Z', before });
  assert.equal(table.model.rows.size, 1, 'no blank page in between');
  await table.run();
  assert.deepEqual(paths, ['/holdfast.io/history/v1/objects/api/v1/pods 2026-01-01T00:00:00Z']);
  assert.equal(table.liveness, 'past');
  assert.deepEqual([...table.model.rows.keys()], ['default/a']);
});

test('an outage is waited for, longer each time, and the rows stay', async () => {
  const failure = () => new Error('no answer');
  const { table, queries, pauses } = scripted([list('7', ['a']), failure, failure, () => [event('ADDED', '8', 'b')]]);
  await table.run();
  assert.deepEqual(queries, ['list', 'watch 7', 'watch 7', 'watch 7', 'watch 8']);
  assert.deepEqual(pauses, [1_000, 2_000]);
  assert.equal(table.model.rows.size, 2);
});

test('watches that the server ends at once, or calls too old, are asked for less and less often', async () => {
  const nothing = () => [];
  const { table, queries, pauses } = scripted([list('7', ['a']), nothing, nothing, () => [GONE], list('9', ['a'])]);
  await table.run();
  assert.deepEqual(queries, ['list', 'watch 7', 'watch 7', 'watch 7', 'list', 'watch 9']);
  assert.deepEqual(pauses, [1_000, 2_000, 4_000]);
});

test('a refusal ends it with the words of the server', async () => {
  const { table, queries } = scripted([() => new ApiFailure(403, 'pods is forbidden')]);
  await table.run();
  assert.deepEqual(queries, ['list']);
  assert.equal(table.liveness, 'refused');
  assert.equal(table.failure, 'pods is forbidden');
});

test('a long collection of which the newest are wanted is not listed: it is followed from short ago', async () => {
  const newest = { rowsMax: 2, from: async () => '5' };
  const { table, queries } = scripted(
    [list('7', ['a', 'b'], 'more'), () => [event('ADDED', '8', 'c'), event('ADDED', '9', 'd')]],
    { newest },
  );
  await table.run();
  assert.deepEqual(queries.slice(0, 2), ['list', 'watch 5']);
  assert.deepEqual([[...table.model.rows.keys()], table.isCut], [['default/c', 'default/d'], true]);
});

test('a server that has forgotten short ago is followed from now', async () => {
  const newest = { rowsMax: 2, from: async () => '5' };
  const long = list('7', ['a', 'b'], 'more');
  const { table, queries } = scripted([long, () => new ApiFailure(410, 'too old'), long, () => []], { newest });
  await table.run();
  assert.deepEqual(queries.slice(0, 4), ['list', 'watch 5', 'list', 'watch 7']);
});

test('of what is followed only the newest rows are kept', () => {
  const at = (second: number) => row(`e${second}`, { createdAt: `2026-01-01T00:00:0${second}Z` });
  const model = tableOf(['Name'], [at(3), at(1), at(2), at(5), at(4)]);
  assert.equal(model.keepNewest(3), false, 'twice as many are kept before the oldest are dropped');
  assert.equal(model.keepNewest(2), true);
  assert.deepEqual([...model.rows.keys()], ['default/e5', 'default/e4']);
});
