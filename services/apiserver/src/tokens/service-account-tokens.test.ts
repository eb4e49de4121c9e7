import assert from 'node:assert/strict';
import { generateKeyPairSync } from 'node:crypto';
import { test } from 'node:test';
import { createIds, createSeededRandom } from '@holdfast/platform';
import { createVirtualClock } from '@holdfast/platform/testing';
import { createTokenSigner } from './jwt.ts';
import { createServiceAccountTokens, type ServiceAccountTokens, type TokenDeps } from './service-account-tokens.ts';

const AUDIENCES = ['https://api'];
const START = 1_800_000_000_000;
const SKEW_MS = 60_000;

const privateKey = (): string =>
  generateKeyPairSync('ec', { namedCurve: 'P-256' }).privateKey.export({ type: 'pkcs8', format: 'pem' }).toString();

const account = { name: 'default', uid: 'u1' };

function tokensAt(clock: TokenDeps['clock'], key: string, furtherKeys?: string): ServiceAccountTokens {
  const found = { metadata: account } as unknown as ReturnType<TokenDeps['reader']['cached']>;
  const reader = { cached: () => found, fresh: async () => found } as unknown as TokenDeps['reader'];
  const ids = createIds(createSeededRandom(1, 'tokens'));
  return createServiceAccountTokens({
    signer: createTokenSigner(key, furtherKeys),
    issuer: 'https://issuer',
    audiences: AUDIENCES,
    reader,
    clock,
    ids,
  });
}

const order = { namespace: 'default', account, audiences: AUDIENCES, seconds: 600 };

test('a token is accepted while the clocks of servers differ by a minute, and not beyond', async () => {
  const key = privateKey();
  const token = tokensAt(createVirtualClock(START), key).issue(order);
  const isAccepted = async (nowMs: number): Promise<boolean> =>
    (await tokensAt(createVirtualClock(nowMs), key).authenticate(token, AUDIENCES)) !== undefined;
  const end = START + order.seconds * 1_000;
  assert.deepEqual([await isAccepted(START - SKEW_MS), await isAccepted(START - SKEW_MS - 1)], [true, false]);
  assert.deepEqual([await isAccepted(end + SKEW_MS), await isAccepted(end + SKEW_MS + 1)], [true, false]);
});

test('tokens of further keys are accepted, and all keys are published; the first one signs', async () => {
  const clock = createVirtualClock(START);
  const [old, next, foreign] = [privateKey(), privateKey(), privateKey()];
  const rsa = generateKeyPairSync('rsa', { modulusLength: 2_048 });
  const rsaPrivate = rsa.privateKey.export({ type: 'pkcs8', format: 'pem' }).toString();
  const further = `${old}\n${rsa.publicKey.export({ type: 'spki', format: 'pem' }).toString()}${next}`;
  const tokens = tokensAt(clock, next, further);
  const isAccepted = async (by: ServiceAccountTokens, token: string): Promise<boolean> =>
    (await by.authenticate(token, AUDIENCES)) !== undefined;
  for (const key of [old, next, rsaPrivate])
    assert.equal(await isAccepted(tokens, tokensAt(clock, key).issue(order)), true);
  assert.equal(await isAccepted(tokens, tokensAt(clock, foreign).issue(order)), false);
  assert.equal(await isAccepted(tokensAt(clock, next), tokens.issue(order)), true);
  const [head, ...rest] = tokensAt(clock, foreign).issue(order).split('.');
  const [trusted] = tokensAt(clock, old).issue(order).split('.');
  assert.notEqual(head, trusted);
  assert.equal(await isAccepted(tokens, [trusted, ...rest].join('.')), false, 'a name of a key is no signature');
  assert.deepEqual(
    tokens.jwks.map(({ alg }) => alg),
    ['ES256', 'ES256', 'RS256'],
  );
  assert.equal(
    tokens.jwks.some((jwk) => 'd' in jwk),
    false,
    'no private half',
  );
});

test('further keys that are no RSA or P-256 keys stop the start', () => {
  const { publicKey } = generateKeyPairSync('ed25519');
  const pem = publicKey.export({ type: 'spki', format: 'pem' }).toString();
  for (const further of ['no key', pem, `${privateKey()}${pem}`, `${privateKey()}${privateKey().slice(0, -10)}`])
    assert.throws(() => createTokenSigner(privateKey(), further), /further keys for service account tokens are not/);
});
