import assert from 'node:assert/strict';
import { test } from 'node:test';
import { behindProxy, linkBehind } from './proxy-answer.ts';

const SEAT = { prefix: '/p/web/proxy', own: '10.0.0.7:8080', asked: 'api:6443' };

test('links to their own host lead back to the proxied host, other links are unchanged', () => {
  const tests: readonly (readonly [string, string])[] = [
    ['/', '/p/web/proxy/'],
    ['/login?next=/a#b', '/p/web/proxy/login?next=/a#b'],
    ['/a/../b/', '/p/web/proxy/b/'],
    ['http://10.0.0.7:8080/login', '/p/web/proxy/login'],
    ['//10.0.0.7:8080/login', '/p/web/proxy/login'],
    ['https://api:6443/login', 'https://api:6443/p/web/proxy/login'],
    ['https://api:6443/p/web/proxy/login', 'https://api:6443/p/web/proxy/login'],
    ['/p/web/proxy/login', '/p/web/proxy/login'],
    ['http://elsewhere/login', 'http://elsewhere/login'],
    ['//elsewhere/login', '//elsewhere/login'],
    ['login', 'login'],
    ['?page=2', '?page=2'],
    ['http://10.0.0.7:8080', 'http://10.0.0.7:8080'],
    ['mailto:a@b', 'mailto:a@b'],
    ['', ''],
  ];
  for (const [link, expected] of tests) assert.equal(linkBehind(link, SEAT), expected, link);
});

test('a proxied server cannot open this server to foreign origins', () => {
  const headers = { 'access-control-allow-origin': '*', 'access-control-allow-credentials': 'true', 'x-a': '1' };
  const answer = behindProxy({ status: 302, headers: { ...headers, location: '/x' }, body: { kind: 'empty' } }, SEAT);
  assert.deepEqual(answer.headers, { 'x-a': '1', location: '/p/web/proxy/x' });
});
