import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Container } from '@holdfast/api';
import type { ProbeNetwork } from '../container/probe-network.ts';
import { PlainAnswerError } from '../domain/plain-answer-error.ts';
import { app, VirtualPod } from '../testing/virtual-pod.ts';

const exits = (seconds: number, code: number): string[] => ['exit-after', String(seconds), String(code)];
const starts = (pod: VirtualPod): readonly string[] => pod.began.map(({ container, at }) => `${container}@${at}`);

test('[LIFE-17] a postStart hook has no deadline: it may take longer than any probe or call', async () => {
  const lifecycle: Container['lifecycle'] = { postStart: { exec: { command: ['sleep', '90000'] } } };
  const pod = await new VirtualPod({ containers: [app('main', { lifecycle })] }).run(89_000);
  assert.deepEqual([pod.status.phase, pod.said('FailedPostStartHook')], ['Pending', []]);
  await pod.run(2_000);
  assert.deepEqual([pod.status.phase, pod.said('FailedPostStartHook')], ['Running', []]);
  await pod.stop();
});

/** A pod with a postStart hook that nothing answers, and what becomes of its requests. */
async function hangingHook(command: string[]) {
  const requests: AbortSignal[] = [];
  const network: Partial<ProbeNetwork> = {
    httpGet: ({ signal }) => {
      requests.push(signal ?? assert.fail('a request without an end'));
      return new Promise(() => {});
    },
  };
  const lifecycle: Container['lifecycle'] = { postStart: { httpGet: { port: 80 } } };
  const pod = await new VirtualPod({ containers: [app('main', { command, lifecycle })] }, network).run(4);
  return { pod, requests };
}

test('[LIFE-17] [LIFE-24] a postStart hook that hangs is given up when its container ends, which starts again', async () => {
  const { pod, requests } = await hangingHook(exits(5, 0));
  assert.deepEqual([requests.length, requests[0]?.aborted, pod.status.phase], [1, false, 'Pending']);
  await pod.run(2);
  const [failure] = pod.said('FailedPostStartHook');
  assert.deepEqual([failure?.at, requests[0]?.aborted], [5, true]);
  assert.deepEqual(starts(pod), ['main@0', 'main@5']);
  assert.deepEqual([requests.length, requests[1]?.aborted], [2, false], 'the second container has a hook of its own');
  await pod.stop();
});

test('[LIFE-17] a kubelet that stops gives up a postStart hook that hangs, and reports no failure of it', async () => {
  const { pod, requests } = await hangingHook(['stay']);
  await pod.stop();
  await pod.run(60);
  assert.deepEqual([requests.map(({ aborted }) => aborted), pod.said('FailedPostStartHook')], [[true], []]);
});

test('[LIFE-17] a postStart hook over HTTPS whose server speaks HTTP has succeeded, and an event says so', async () => {
  const network: Partial<ProbeNetwork> = {
    httpGet: ({ url }) =>
      url.startsWith('https:') ? Promise.reject(new PlainAnswerError('no TLS')) : Promise.resolve({ status: 500 }),
  };
  const lifecycle: Container['lifecycle'] = { postStart: { httpGet: { port: 8443, scheme: 'HTTPS' } } };
  const pod = await new VirtualPod({ containers: [app('main', { lifecycle })] }, network).run(2);
  assert.deepEqual([pod.status.phase, pod.said('FailedPostStartHook')], ['Running', []]);
  const [{ type, message } = { type: '', message: '' }, ...others] = pod.said('LifecycleHTTPFallback');
  assert.deepEqual([type, others], ['Warning', []]);
  assert.match(message, /retry with HTTP succeeded$/);
  await pod.stop();
});
