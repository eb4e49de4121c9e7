import type { TLSSocket } from 'node:tls';
import { Connection } from './connection.ts';
import { ascending, type Figure, percentile } from './figures.ts';
import { openTls, type Target } from './tls-connection.ts';

const PATH = '/api/v1/namespaces/bench/configmaps';
/** Each event carries the time it was sent; watchers find it behind this mark. */
const MARK = '"sentAt":"';
const DEADLINE_MS = 60_000;
/** Handshakes of so many watchers are not what is measured. */
const SETTLE_MS = 300;
/** Nor is how long cores that had nothing to do take to come back: these are made before the events that count. */
const WAKING_EVENTS = 10;

export interface FanOutLoad {
  readonly target: Target;
  readonly watchers: number;
  readonly events: number;
}

/** Connections that make changes while the rate of deliveries is measured. */
const WRITERS = 8;

/** One change at a time; every watcher must see each. */
export async function latencyRow(load: FanOutLoad): Promise<Figure> {
  const { latencies, seconds } = await fanOut(load, 1);
  const sorted = ascending(latencies);
  const half = percentile(sorted, 0.5).toFixed(1);
  const each = ((seconds * 1000) / load.events).toFixed(2);
  const note = `${load.watchers} watchers x ${load.events} events, one at a time; p50 ${half} ms, a create took ${each} ms`;
  return { row: 'watch p99', value: percentile(sorted, 0.99), unit: 'ms', note, operations: latencies.length };
}

/** Changes as fast as they can be made. */
export async function deliveriesRow(load: FanOutLoad): Promise<Figure> {
  const { latencies, seconds } = await fanOut(load, WRITERS);
  const operations = latencies.length;
  const note = `${load.watchers} watchers x ${load.events} events, at full rate`;
  return { row: 'watch deliveries', value: operations / seconds, unit: 'events/s', note, operations };
}

async function fanOut(load: FanOutLoad, writers: number): Promise<{ latencies: readonly number[]; seconds: number }> {
  const latencies: number[] = [];
  const { target, watchers, events } = load;
  const sockets = await Promise.all(Array.from({ length: watchers }, () => openWatch(target, latencies)));
  await new Promise((resolve) => setTimeout(resolve, SETTLE_MS));
  await makeEvents(target, `${writers}-waking`, WAKING_EVENTS);
  await arrival(latencies, watchers * WAKING_EVENTS, performance.now());
  latencies.length = 0;
  const startedAt = performance.now();
  await Promise.all(
    Array.from({ length: writers }, (_, i) => makeEvents(target, `${writers}-${i}`, Math.ceil(events / writers))),
  );
  await arrival(latencies, watchers * writers * Math.ceil(events / writers), startedAt);
  const seconds = (performance.now() - startedAt) / 1000;
  for (const socket of sockets) socket.destroy();
  await removeEvents(target);
  return { latencies, seconds };
}

/** Later watchers would get them as their initial state. */
async function removeEvents(target: Target): Promise<void> {
  const connection = await Connection.open(target);
  const { status } = await connection.request('DELETE', `${PATH}?labelSelector=bench%3Dfanout`);
  if (status !== 200) throw new Error(`removing the events answered ${status}`);
  connection.close();
}

/** Resolves when the server has confirmed the watch. */
async function openWatch(target: Target, latencies: number[]): Promise<TLSSocket> {
  const { promise: opened, resolve, reject } = Promise.withResolvers<void>();
  let rest = '';
  const socket = await openTls(target, (bytes) => {
    resolve();
    rest = countEvents(rest + bytes.toString('latin1'), latencies);
  });
  socket.once('error', reject);
  socket.write(
    `GET ${PATH}?watch=1&labelSelector=bench%3Dfanout HTTP/1.1\r\nHost: ${target.host}\r\nAuthorization: Bearer ${target.token}\r\n\r\n`,
  );
  await opened;
  return socket;
}

function countEvents(text: string, latencies: number[]): string {
  const now = performance.now();
  let at = 0;
  for (;;) {
    const mark = text.indexOf(MARK, at);
    if (mark === -1) return text.slice(Math.max(at, text.length - MARK.length));
    const end = text.indexOf('"', mark + MARK.length);
    if (end === -1) return text.slice(mark);
    latencies.push(now - Number(text.slice(mark + MARK.length, end)));
    at = end;
  }
}

async function makeEvents(target: Target, series: string, events: number): Promise<void> {
  const connection = await Connection.open(target);
  for (let i = 0; i < events; i++) {
    const metadata = { name: `fanout-${process.pid}-${series}-${i}`, labels: { bench: 'fanout' } };
    const data = { sentAt: String(performance.now()) };
    const answer = await connection.request(
      'POST',
      PATH,
      JSON.stringify({ apiVersion: 'v1', kind: 'ConfigMap', metadata, data }),
    );
    if (answer.status !== 201) throw new Error(`creating an event answered ${answer.status}`);
  }
  connection.close();
}

async function arrival(latencies: readonly number[], wanted: number, startedAt: number): Promise<void> {
  while (latencies.length < wanted) {
    if (performance.now() - startedAt > DEADLINE_MS) {
      throw new Error(`only ${latencies.length} of ${wanted} deliveries arrived in ${DEADLINE_MS} ms`);
    }
    await new Promise((resolve) => setTimeout(resolve, 1));
  }
}
