import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { SubjectAccessReview } from '@holdfast/api';
import { API_SERVER_CLIENT, type ApiHandler, createApiClient, createDirectTransport } from '@holdfast/client';
import { StatusError } from '@holdfast/machinery';
import { createVirtualClock } from '@holdfast/platform/testing';
import { ACCESS_KEPT_MS } from '../limits.ts';
import { createNodeAccess } from './node-access.ts';

interface Asked {
  readonly kind: string;
  readonly spec: SubjectAccessReview['spec'] & { readonly token?: string };
}

/** Knows the token `ada`; only `ada` has access. */
function rig() {
  const asked: Asked[] = [];
  const handler: ApiHandler = async ({ body }) => {
    const review = JSON.parse(typeof body === 'string' ? body : '') as Asked;
    asked.push(review);
    const { token, user } = review.spec;
    const status =
      review.kind === 'TokenReview'
        ? { authenticated: token === 'ada', user: { username: token, groups: ['g'] } }
        : { allowed: user === 'ada' };
    const answer = { ...review, status };
    const bytes = () => Buffer.from(JSON.stringify(answer));
    return { status: 201, headers: {}, body: { kind: 'json', bytes, value: () => answer } };
  };
  const clock = createVirtualClock();
  const client = createApiClient({ transport: createDirectTransport(handler), userAgent: 'test' });
  const access = createNodeAccess({ client, clock, nodeName: 'node-1' });
  const get = (path: string, authorization?: string) => ({
    method: 'GET' as const,
    path,
    headers: authorization === undefined ? {} : { authorization },
  });
  return { asked, clock, access, get };
}

const refusesWith = (code: number) => (error: unknown) => error instanceof StatusError && error.body.code === code;

test('an API server is authenticated by its certificate, without a review', async () => {
  const { access, get, asked } = rig();
  const { user, group } = API_SERVER_CLIENT;
  await access(get('/exec/default/web/main'), { user, groups: [group] });
  assert.deepEqual(asked, []);
});

test('a certificate with only some, or more, of the identities of an API server is treated like any other', async () => {
  const { access, get } = rig();
  const { user, group } = API_SERVER_CLIENT;
  for (const [name, groups] of [
    [user, []],
    [user, ['system:nodes']],
    [user, [group, 'system:nodes']],
    ['bob', [group]],
  ] as const) {
    await assert.rejects(access(get('/exec/default/web/main'), { user: name, groups }), refusesWith(403), name);
  }
});

test('others are authorized by token or certificate through the API; unauthenticated requests get 401, forbidden ones 403', async () => {
  const { access, get, asked } = rig();
  await access(get('/metrics', 'Bearer ada'), undefined);
  await access(get('/run/x'), { user: 'ada', groups: ['h'] });
  await access(get('/constructor/x'), { user: 'ada', groups: ['i'] });
  assert.deepEqual(
    asked.flatMap(({ spec: { user, resourceAttributes } }) => (user === undefined ? [] : [resourceAttributes])),
    [
      { verb: 'get', version: 'v1', resource: 'nodes', subresource: 'metrics', name: 'node-1' },
      { verb: 'get', version: 'v1', resource: 'nodes', subresource: 'proxy', name: 'node-1' },
      { verb: 'get', version: 'v1', resource: 'nodes', subresource: 'proxy', name: 'node-1' },
    ],
  );
  await assert.rejects(access(get('/metrics'), { user: 'bob', groups: [] }), refusesWith(403));
  await assert.rejects(access(get('/metrics', 'Bearer eve'), undefined), refusesWith(401));
  await assert.rejects(access(get('/metrics'), undefined), refusesWith(401));
});

test('an answer is cached for a moment, and for the same request alone', async () => {
  const { access, get, asked, clock } = rig();
  for (let i = 0; i < 3; i++) await access(get('/metrics', 'Bearer ada'), undefined);
  assert.equal(asked.length, 2);
  await access(get('/logs/x', 'Bearer ada'), undefined);
  assert.equal(asked.length, 4);
  await clock.advance(ACCESS_KEPT_MS);
  await access(get('/metrics', 'Bearer ada'), undefined);
  assert.equal(asked.length, 6);
});
