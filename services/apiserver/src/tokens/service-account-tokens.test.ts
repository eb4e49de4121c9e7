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

function tokensAt(clock: TokenDeps['clock'], key: string): ServiceAccountTokens {
  const found = { metadata: account } as unknown as ReturnType<TokenDeps['reader']['cached']>;
  const reader = { cached: () => found, fresh: async () => found } as unknown as TokenDeps['reader'];
  const ids = createIds(createSeededRandom(1, 'tokens'));
  return createServiceAccountTokens({
    signer: createTokenSigner(key),
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
