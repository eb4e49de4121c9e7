import assert from 'node:assert/strict';
import { test } from 'node:test';
import { requestOf } from '../testing/fixture.ts';
import { readRequestInfo } from './request-info.ts';
import { requestTimeoutMs } from './request-timeout.ts';

const POD = '/api/v1/namespaces/default/pods/a';

for (const [method, url, expected] of [
  ['GET', POD, 'common'],
  ['GET', '/api/v1/pods?limit=1', 'common'],
  ['POST', '/apis/apps/v1/namespaces/default/deployments?timeout=', 'common'],
  ['GET', '/readyz', 'common'],
  ['GET', `${POD}?timeout=1500ms`, 1_500],
  ['GET', `${POD}?timeout=0s`, 60_000],
  ['GET', `${POD}?timeout=2h`, 60_000],
  ['GET', '/api/v1/pods?watch=1', 'none'],
  ['GET', '/api/v1/watch/pods?timeout=1s', 'none'],
  ['GET', `${POD}/log?follow=true`, 'none'],
  ['POST', `${POD}/exec?command=sh`, 'none'],
  ['POST', `${POD}/attach`, 'none'],
  ['POST', `${POD}/portforward`, 'none'],
  ['GET', `${POD}/proxy/slow`, 'none'],
  ['GET', '/api/v1/nodes/n/proxy/logs/', 'none'],
  ['GET', '/holdfast.io/history/v1/changes/api/v1/pods', 'none'],
  ['GET', '/holdfast.io/history/v1/changes/api/v1/pods?timeout=3s', 3_000],
] as const) {
  test(`the time of ${method} ${url} is ${expected}`, () => {
    const request = requestOf(method, url, {});
    assert.equal(requestTimeoutMs(request, readRequestInfo(request)), expected);
  });
}
