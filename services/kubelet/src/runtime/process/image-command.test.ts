import assert from 'node:assert/strict';
import { test } from 'node:test';
import { type ContainerConfig, RuntimeError } from '../port.ts';
import { commandOf } from './image-command.ts';

function config(image: string, command: readonly string[], args: readonly string[]): ContainerConfig {
  return { name: 'app', image, command, args, env: {}, restartCount: 0 };
}

function programOf(image: string, command: readonly string[], args: readonly string[]): readonly string[] {
  return [...commandOf(config(image, command, args)), ...args];
}

test('a command is run unchanged, whatever the image', () => {
  assert.deepEqual(programOf('nginx:1.27', ['sleep'], ['5']), ['sleep', '5']);
  assert.deepEqual(programOf('busybox', ['sleep'], ['5']), ['sleep', '5']);
});

test('an image that is only a shell runs its arguments, or the shell', () => {
  for (const image of ['busybox', 'docker.io/library/busybox:1.36', 'ubuntu@sha256:abc', 'host:5000/alpine:3']) {
    assert.deepEqual(programOf(image, [], ['sleep', '5']), ['sleep', '5'], image);
    assert.deepEqual(programOf(image, [], []), ['/bin/sh'], image);
  }
});

test('the command of an unknown image is not guessed', () => {
  for (const image of ['nginx', 'example.com/busybox/tool:1', 'busyboxes', 'pause']) {
    assert.throws(() => commandOf(config(image, [], ['--flag'])), RuntimeError, image);
  }
});
