import assert from 'node:assert/strict';
import { duplexPair } from 'node:stream';
import { test } from 'node:test';
import { type Clock, createSystemClock } from '@holdfast/platform';
import { eventually } from '../runtime/contract.ts';
import { readToEnd, within } from '../runtime/contract-streams.ts';
import { forwardOverSpdy } from './forward-ports.ts';
import { STREAM_CREATION_MS } from './limits.ts';
import { createSpdySession } from './spdy/session.ts';

/** Timers run on request. */
function handledClock(): {
  readonly clock: Clock;
  readonly pass: (delayMs: number) => void;
  readonly count: () => number;
} {
  const timers = new Set<{ readonly delayMs: number; readonly run: () => void }>();
  const timer: Clock['timer'] = (delayMs, run) => {
    const one = { delayMs, run };
    timers.add(one);
    return { cancel: () => void timers.delete(one) };
  };
  return {
    clock: { ...createSystemClock(), timer },
    pass: (delayMs) => {
      const due = [...timers].filter((one) => one.delayMs === delayMs);
      for (const one of due) if (timers.delete(one)) one.run();
    },
    count: () => [...timers].filter(({ delayMs }) => delayMs === STREAM_CREATION_MS).length,
  };
}

test('a forwarded connection outlives the timeout for pairing its two streams', async (t) => {
  const [clientSocket, serverSocket] = duplexPair();
  const [pod, inPod] = duplexPair();
  t.after(() => [clientSocket, serverSocket, pod, inPod].forEach((each) => each.destroy()));
  const { clock, pass, count } = handledClock();
  const deps = { clock, connect: () => Promise.resolve(pod), what: String };
  void forwardOverSpdy(serverSocket, Buffer.alloc(0), deps);
  const client = createSpdySession(clientSocket, { role: 'client', clock, onStream: () => undefined });
  const idle = count();
  const error = client.openStream({ streamtype: 'error', port: '80', requestid: '0' });
  error.end();
  await eventually(() => count() === idle + 1, 'one of the two waits for the other');
  const data = client.openStream({ streamtype: 'data', port: '80', requestid: '0' });
  inPod.resume();
  inPod.write('first ');
  await eventually(() => data.readableLength > 0, 'the connection stands');
  pass(STREAM_CREATION_MS);
  error.resume();
  inPod.write('last');
  await eventually(() => data.readableLength === 'first last'.length, 'the connection goes on');
  assert.equal(error.readableEnded || error.destroyed, false);
  inPod.end();
  data.end();
  assert.equal(await within(readToEnd(data), 'what the pod said'), 'first last');
  await eventually(() => error.readableEnded, 'nothing was wrong');
  assert.equal(count(), idle);
});

test('a stream that the client sent whole does not wait for its pair after the connection has ended', async (t) => {
  const [clientSocket, serverSocket] = duplexPair();
  t.after(() => [clientSocket, serverSocket].forEach((each) => each.destroy()));
  const { clock, count } = handledClock();
  const deps = { clock, connect: () => Promise.reject(new Error('no pod')), what: String };
  const served = forwardOverSpdy(serverSocket, Buffer.alloc(0), deps);
  const client = createSpdySession(clientSocket, { role: 'client', clock, onStream: () => undefined });
  const idle = count();
  client.openStream({ streamtype: 'error', port: '80', requestid: '0' }).end();
  await eventually(() => count() === idle + 1, 'the stream waits for its pair');
  clientSocket.end();
  await within(served, 'the end of the client');
  await eventually(() => count() === 0, 'no timer is left');
});
