import assert from 'node:assert/strict';
import { test } from 'node:test';
import { parseImageName } from './image-name.ts';

const DIGEST = `sha256:${'0123456789abcdef'.repeat(4)}`;

test('a short image name is completed as usual', () => {
  const parsed = (text: string): unknown => {
    const name = parseImageName(text);
    return name === undefined ? undefined : [name.full, name.registry, name.repository];
  };
  assert.deepEqual(parsed('busybox'), ['busybox:latest', 'docker.io', 'library/busybox']);
  assert.deepEqual(parsed('busybox:1.36'), ['busybox:1.36', 'docker.io', 'library/busybox']);
  assert.deepEqual(parsed('me/tool'), ['me/tool:latest', 'docker.io', 'me/tool']);
  assert.deepEqual(parsed('index.docker.io/me/tool:1'), ['index.docker.io/me/tool:1', 'docker.io', 'me/tool']);
  assert.deepEqual(parsed('registry.example:5000/a/b'), [
    'registry.example:5000/a/b:latest',
    'registry.example:5000',
    'a/b',
  ]);
  assert.deepEqual(parsed('localhost/a'), ['localhost/a:latest', 'localhost', 'a']);
  assert.deepEqual(parsed(`a@${DIGEST}`), [`a@${DIGEST}`, 'docker.io', 'library/a']);
  assert.deepEqual(parsed(`a:1@${DIGEST}`), [`a:1@${DIGEST}`, 'docker.io', 'library/a']);
});

test('an invalid image name is refused', () => {
  for (const text of [
    '',
    'Upper',
    'a b',
    'a:',
    'a:-x',
    'a@sha256:12',
    '/a',
    'a//b',
    'a:b:c',
    'http://a/b',
    '-a',
    'a'.repeat(300),
  ])
    assert.equal(parseImageName(text), undefined, text);
});
