import assert from 'node:assert/strict';
import { test } from 'node:test';
import { type ApiHandler, createApiClient, createDirectTransport } from '@holdfast/client';
import { createVirtualClock } from '@holdfast/platform/testing';
import { STATUS_ACCESS_KEPT_MS } from '../limits.ts';
import { createStatusAccess } from './status-access.ts';

interface Asked {
  readonly kind: string;
  readonly spec: {
    readonly token?: string;
    readonly user?: string;
    readonly nonResourceAttributes?: unknown;
    readonly resourceAttributes?: unknown;
  };
}

/** Knows the tokens `ada` and `bob`; only `ada` may read. */
function rig() {
  const asked: Asked[] = [];
  let fails = false;
  const handler: ApiHandler = async ({ body }) => {
    if (fails) throw new Error('the API is away');
    const review = JSON.parse(typeof body === 'string' ? body : '') as Asked;
    asked.push(review);
    const { token, user } = review.spec;
    const known = token === 'ada' || token === 'bob';
    const status =
      review.kind === 'TokenReview'
        ? { authenticated: known, user: known ? { username: token, groups: ['g'] } : {} }
        : { allowed: user === 'ada' };
    const answer = { ...review, status };
    const bytes = () => Buffer.from(JSON.stringify(answer));
    return { status: 201, headers: {}, body: { kind: 'json', bytes, value: () => answer } };
  };
  const clock = createVirtualClock();
  const client = createApiClient({ transport: createDirectTransport(handler), userAgent: 'test' });
  return { asked, clock, access: createStatusAccess({ client, clock }), fail: (yes: boolean) => void (fails = yes) };
}

test('the API authenticates the caller and authorizes the path', async () => {
  const { access, asked } = rig();
  assert.equal(await access('/metrics', 'Bearer ada'), 'allowed');
  assert.equal(await access('/metrics', 'bearer bob'), 'forbidden');
  assert.equal(await access('/metrics', 'Bearer eve'), 'unauthenticated');
  assert.equal(await access('/metrics', undefined), 'unauthenticated');
  assert.deepEqual(asked[1]?.spec.nonResourceAttributes, { path: '/metrics', verb: 'get' });
  const pod = { namespace: 'shop', name: 'web' };
  assert.equal(await access(pod, 'Bearer bob'), 'forbidden');
  const review = { group: '', version: 'v1', resource: 'pods', verb: 'get', ...pod };
  assert.deepEqual(asked.at(-1)?.spec.resourceAttributes, review);
});

test('an answer is cached for a moment and for its path alone; a failed request is repeated', async () => {
  const { access, asked, clock, fail } = rig();
  fail(true);
  await assert.rejects(access('/metrics', 'Bearer ada'));
  fail(false);
  for (let i = 0; i < 3; i++) assert.equal(await access('/metrics', 'Bearer ada'), 'allowed');
  assert.equal(asked.length, 2);
  await access('/debug/cache', 'Bearer ada');
  assert.equal(asked.length, 4);
  await clock.advance(STATUS_ACCESS_KEPT_MS);
  await access('/metrics', 'Bearer ada');
  assert.equal(asked.length, 6);
});
