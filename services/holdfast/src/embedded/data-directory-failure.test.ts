import assert from 'node:assert/strict';
import { test } from 'node:test';
import { OperatorError } from '@holdfast/platform';
import { explainFileFailure } from './data-directory-failure.ts';

const DATA = { path: '/data', flag: '--data-dir' };

const failure = (code: string, where: { readonly path: string } | { readonly syscall: string }): Error =>
  Object.assign(new Error(`${code}: as Node says it`), { code, ...where });

for (const [says, error, nextStep] of [
  [
    'a file that may not be read',
    failure('EACCES', { path: '/data/pki/ca.key' }),
    /^Correct its permissions, or choose another one with --data-dir\.$/,
  ],
  [
    'a file system that is not written to',
    failure('EROFS', { path: '/data/tokens.csv.new' }),
    /^Correct its permissions, or choose another one with --data-dir\.$/,
  ],
  [
    'a file where a folder belongs',
    failure('ENOTDIR', { path: '/data/nodes/node-1' }),
    /Remove the file that is in its place/,
  ],
  ['the directory itself', failure('ENOTDIR', { path: '/data' }), /Remove the file that is in its place/],
  ['a full disk, which names no file', failure('ENOSPC', { syscall: 'write' }), /Free some space/],
] as const) {
  test(`${says} is reported with the next step`, () => {
    const told = explainFileFailure(DATA, error);
    assert.ok(told instanceof OperatorError);
    assert.equal(told.message, `the data directory /data cannot be used: ${error.message}`);
    assert.match(told.nextStep, nextStep);
  });
}

for (const [says, error] of [
  ['a file of another user', failure('EACCES', { path: '/database/x' })],
  ['a socket', failure('EACCES', { syscall: 'listen' })],
  ['a mistake of ours', failure('EBADF', { path: '/data/x' })],
  ['what is no error', 'text'],
] as const) {
  test(`${says} is reported unchanged`, () => assert.equal(explainFileFailure(DATA, error), error));
}
