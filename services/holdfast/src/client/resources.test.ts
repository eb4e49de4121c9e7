import assert from 'node:assert/strict';
import { test } from 'node:test';
import { resolveWords } from './resources.ts';
import type { Session } from './session.ts';

const POD = { resource: 'pods', responseKind: { kind: 'Pod' }, scope: 'Namespaced', singularResource: 'pod' };
const CORE = { metadata: { name: '' }, versions: [{ version: 'v1', resources: [{ ...POD, shortNames: ['po'] }] }] };

const POD_METRICS = {
  resource: 'pods',
  responseKind: { kind: 'PodMetrics' },
  scope: 'Namespaced',
  singularResource: 'pod',
};
const METRICS = { metadata: { name: 'metrics.k8s.io' }, versions: [{ version: 'v1beta1', resources: [POD_METRICS] }] };

/** An API server with only two kinds of pods. */
const resolve = async (...words: readonly string[]): Promise<readonly string[]> => {
  const read = (path: string): Promise<unknown> => Promise.resolve({ items: path === '/api' ? [CORE] : [METRICS] });
  const { named, resource: type } = await resolveWords(words, { read } as unknown as Session);
  return named.length === 0 ? [type.kind] : named.map(({ resource, name }) => `${resource.plural}/${name}`);
};

test('objects are named after their resource, or together with it', async () => {
  assert.deepEqual(await resolve('po', 'a', 'b'), ['pods/a', 'pods/b']);
  assert.deepEqual(await resolve('pod/a', 'Pods/b'), ['pods/a', 'pods/b']);
  assert.deepEqual(await resolve('pods'), ['Pod']);
});

test('a resource name shared by two groups means the core group, unless the group is given', async () => {
  assert.deepEqual(await resolve('Pods.Metrics.k8s.io'), ['PodMetrics']);
  await assert.rejects(resolve('pods.apps'), { exitCode: 2 });
});

test('an argument that does not name an object exactly is refused, without guesses', async () => {
  for (const words of [['pods/a/b'], ['pods/'], ['pod/a', 'pod'], ['pod', 'a/b'], ['pod/a', 'b/c'], ['/a'], ['']]) {
    await assert.rejects(resolve(...words), { exitCode: 2 }, words.join(' '));
  }
});
