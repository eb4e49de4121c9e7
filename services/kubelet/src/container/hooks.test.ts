import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { HTTPGetAction } from '@holdfast/api';
import { createVirtualClock } from '@holdfast/platform/testing';
import { PlainAnswerError } from '../domain/plain-answer-error.ts';
import type { ContainerRuntime } from '../runtime/port.ts';
import { runHook } from './hooks.ts';
import type { HttpAnswer, ProbeNetwork } from './probe-network.ts';

type HttpRequest = Parameters<ProbeNetwork['httpGet']>[0];

/** Runs an HTTP hook against a server that answers as given, and keeps its requests. */
function hooked(answer: (request: HttpRequest) => Promise<HttpAnswer>, action: Partial<HTTPGetAction> = {}) {
  const requests: HttpRequest[] = [];
  const network = {
    httpGet: (request: HttpRequest) => {
      requests.push(request);
      return answer(request);
    },
  } as ProbeNetwork;
  const deps = { runtime: {} as ContainerRuntime, clock: createVirtualClock(), network };
  const target = { id: 'c1', podIp: '192.0.2.7', ports: [], timeoutMs: 5_000 };
  return { requests, outcome: runHook(deps, { httpGet: { port: 8443, path: '/hook', ...action } }, target) };
}

const plainServer = ({ url }: HttpRequest): Promise<HttpAnswer> =>
  url.startsWith('https:')
    ? Promise.reject(new PlainAnswerError(new Error('wrong version number')))
    : Promise.resolve({ status: 200 });

test('[LIFE-17] [LIFE-19] any answer to an HTTP hook is a success; a request without an answer is a failure', async () => {
  for (const status of [200, 302, 404, 500]) {
    const { outcome, requests } = hooked(() => Promise.resolve({ status }));
    assert.equal(await outcome, undefined, `status ${status}`);
    assert.equal(requests[0]?.url, 'http://192.0.2.7:8443/hook');
    assert.equal(requests[0]?.headers['user-agent'], 'kube-lifecycle/1.32');
  }
  const refused = new Error('connection refused');
  await assert.rejects(hooked(() => Promise.reject(refused)).outcome, refused);
});

test('a hook that says HTTPS to a server of plain HTTP is sent again as HTTP, without its authorization, and with a warning', async () => {
  const httpHeaders = [
    { name: 'Authorization', value: 'Bearer secret' },
    { name: 'X-Hook', value: 'yes' },
  ];
  const { outcome, requests } = hooked(plainServer, { scheme: 'HTTPS', httpHeaders });
  assert.match((await outcome) ?? '', /^request to HTTPS lifecycle hook 192\.0\.2\.7:8443 got HTTP response/);
  assert.deepEqual(
    requests.map(({ url, headers }) => [url, headers['authorization'], headers['x-hook']]),
    [
      ['https://192.0.2.7:8443/hook', 'Bearer secret', 'yes'],
      ['http://192.0.2.7:8443/hook', undefined, 'yes'],
    ],
  );
});

test('a hook whose server answers neither HTTPS nor HTTP fails with what became of HTTPS', async () => {
  const { outcome, requests } = hooked(
    (request) => plainServer(request).then(() => Promise.reject(new Error('no HTTP either'))),
    { scheme: 'HTTPS' },
  );
  await assert.rejects(outcome, PlainAnswerError);
  assert.equal(requests.length, 2);
});

test('a hook over HTTPS that fails in another way is not sent in plain text', async () => {
  const refused = new Error('connection refused');
  const { outcome, requests } = hooked(() => Promise.reject(refused), { scheme: 'HTTPS' });
  await assert.rejects(outcome, refused);
  assert.equal(requests.length, 1);
});
