import assert from 'node:assert/strict';
import { test } from 'node:test';
import { resolveWords } from './resources.ts';
import type { Session } from './session.ts';

const POD = { resource: 'pods', responseKind: { kind: 'Pod' }, scope: 'Namespaced', singularResource: 'pod' };
const CORE = { metadata: { name: '' }, versions: [{ version: 'v1', resources: [{ ...POD, shortNames: ['po'] }] }] };

/** An API server that has pods and nothing else. */
const resolve = async (...words: readonly string[]): Promise<readonly string[]> => {
  const read = (path: string): Promise<unknown> => Promise.resolve({ items: path === '/api' ? [CORE] : [] });
  const { named } = await resolveWords(words, { read } as unknown as Session);
  return named.map(({ resource, name }) => `${resource.plural}/${name}`);
};

test('objects are named after their resource, or together with it', async () => {
  assert.deepEqual(await resolve('po', 'a', 'b'), ['pods/a', 'pods/b']);
  assert.deepEqual(await resolve('pod/a', 'Pods/b'), ['pods/a', 'pods/b']);
  assert.deepEqual(await resolve('pods'), []);
});

test('what names no object exactly is refused: nothing is guessed from a part of it', async () => {
  for (const words of [['pods/a/b'], ['pods/'], ['pod/a', 'pod'], ['pod', 'a/b'], ['pod/a', 'b/c'], ['/a'], ['']]) {
    await assert.rejects(resolve(...words), { exitCode: 2 }, words.join(' '));
  }
});
