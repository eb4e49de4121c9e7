import assert from 'node:assert/strict';
import { test } from 'node:test';
import { requestOf } from '../testing/fixture.ts';
import { bearerToken } from './bearer-token.ts';

const HANDSHAKE = { connection: 'keep-alive, Upgrade', upgrade: 'websocket' };
const protocolOf = (token: string | Buffer): string =>
  `base64url.bearer.authorization.k8s.io.${Buffer.from(token).toString('base64url')}`;

const tokenIn = (protocols: string, headers: Record<string, string> = HANDSHAKE): string | undefined =>
  bearerToken(requestOf('GET', '/', { as: 'anonymous', headers: { ...headers, 'sec-websocket-protocol': protocols } }));

test('a WebSocket carries a bearer token as a protocol beside another', () => {
  assert.equal(tokenIn(`v4.channel.k8s.io, ${protocolOf('tökén?')}`), 'tökén?');
  assert.equal(tokenIn(`${protocolOf('abc')},other`), 'abc');
  assert.equal(tokenIn('other'), undefined);
  assert.equal(tokenIn(`${protocolOf('')}, other`), undefined);
});

test('the header has precedence, and other requests have no such protocol', () => {
  const protocols = `${protocolOf('abc')}, other`;
  assert.equal(tokenIn(protocols, { ...HANDSHAKE, authorization: 'Bearer header' }), 'header');
  assert.equal(tokenIn(protocols, {}), undefined);
  assert.equal(tokenIn(protocols, { ...HANDSHAKE, upgrade: 'SPDY/3.1' }), undefined);
});

for (const [what, protocols] of [
  ['two tokens', `${protocolOf('a')}, ${protocolOf('a')}, other`],
  ['a token alone', protocolOf('abc')],
  ['padding', `${protocolOf('ab')}=, other`],
  ['a text that is no base64', `${protocolOf('')}abcde, other`],
  ['bytes that are no UTF-8', `${protocolOf(Buffer.from([0xff]))}, other`],
] as const) {
  test(`a WebSocket with ${what} is refused`, () => {
    assert.throws(() => tokenIn(protocols), { code: 401 });
  });
}
