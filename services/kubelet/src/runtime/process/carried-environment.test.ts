import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { test } from 'node:test';
import { helper } from '../helpers.ts';
import { ADD_SPECIAL, carryEnvironment, UNPACK_ENVIRONMENT } from './carried-environment.ts';

test('variables of any name reach the command, also those that look like options of env', () => {
  const env = { PLAIN: 'a b', '-x': 'one', '--help': 'two', '-': 'three', 'with.point': '$HOME', IFS: ':' };
  const script = [UNPACK_ENVIRONMENT, ADD_SPECIAL(helper('env')), 'exec $holdfast_env "$@"'].join('\n');
  const show = [process.execPath, '-e', 'process.stdout.write(JSON.stringify(process.env))'];
  const { status, stdout, stderr } = spawnSync('/bin/sh', ['-c', script, 'holdfast', ...show], {
    env: carryEnvironment(env),
    encoding: 'utf8',
  });
  assert.equal(status, 0, stderr);
  const { PWD: _own, ...seen } = JSON.parse(stdout);
  assert.deepEqual(seen, env);
});
