import assert from 'node:assert/strict';
import { test } from 'node:test';
import { requestOf } from '../testing/fixture.ts';
import { bearerToken, tokenWarning } from './bearer-token.ts';

const HINT = 'the provided Authorization header contains extra space before the bearer token, and is ignored';

for (const [authorization, token, warning] of [
  ['Bearer abc', 'abc'],
  ['bEARER abc', 'abc'],
  [' Bearer abc ', 'abc'],
  ['Bearer abc def', 'abc'],
  ['Bearer  abc', undefined, HINT],
  ['Bearer', undefined],
  ['Basic abc', undefined],
  ['Basic  abc', undefined],
  ['', undefined],
] as const) {
  test(`${JSON.stringify(authorization)}: ${token ?? 'no token'}`, () => {
    const request = requestOf('GET', '/', { as: 'anonymous', headers: { authorization } });
    assert.deepEqual([bearerToken(request), tokenWarning(request)], [token, warning]);
  });
}
