import { connect, type TLSSocket } from 'node:tls';
import { Connection, type Target } from './connection.ts';
import { ascending, type Figure, percentile } from './figures.ts';

const PATH = '/api/v1/namespaces/bench/configmaps';
/** Each event carries the time it was sent; watchers find it behind this mark. */
const MARK = '"sentAt":"';
const DEADLINE_MS = 60_000;

/**
 * `watchers` open watches on one resource, `events` changes; every watcher must see every one. Latency is measured with one
 * change at a time, the rate of deliveries with changes made as fast as `writers` connections can.
 */
export async function fanOutRows(load: FanOutLoad): Promise<readonly Figure[]> {
  const calm = await fanOut(load, 1);
  const busy = await fanOut(load, load.writers);
  const note = `${load.watchers} watchers x ${load.events} events`;
  return [
    {
      row: 'watch p99',
      value: percentile(ascending(calm.latencies), 0.99),
      unit: 'ms',
      note: `${note}, one at a time`,
    },
    {
      row: 'watch deliveries',
      value: busy.latencies.length / busy.seconds,
      unit: 'events/s',
      note: `${note}, at full rate`,
    },
  ];
}

export interface FanOutLoad {
  readonly target: Target;
  readonly watchers: number;
  readonly events: number;
  readonly writers: number;
}

async function fanOut(load: FanOutLoad, writers: number): Promise<{ latencies: readonly number[]; seconds: number }> {
  const latencies: number[] = [];
  const { target, watchers, events } = load;
  const sockets = await Promise.all(Array.from({ length: watchers }, () => openWatch(target, latencies)));
  const startedAt = performance.now();
  await Promise.all(
    Array.from({ length: writers }, (_, i) => makeEvents(target, `${writers}-${i}`, Math.ceil(events / writers))),
  );
  await arrival(latencies, watchers * writers * Math.ceil(events / writers), startedAt);
  const seconds = (performance.now() - startedAt) / 1000;
  for (const socket of sockets) socket.destroy();
  return { latencies, seconds };
}

function openWatch(target: Target, latencies: number[]): Promise<TLSSocket> {
  return new Promise((resolve, reject) => {
    const socket = connect({
      host: target.host,
      port: target.port,
      rejectUnauthorized: false,
      ALPNProtocols: ['http/1.1'],
    });
    socket.once('error', reject);
    socket.once('secureConnect', () => {
      const head = `GET ${PATH}?watch=1&labelSelector=bench%3Dfanout HTTP/1.1\r\nHost: ${target.host}\r\nAuthorization: Bearer ${target.token}\r\n\r\n`;
      socket.write(head);
    });
    let rest = '';
    let open = false;
    socket.on('data', (chunk) => {
      if (!open) {
        open = true;
        resolve(socket);
      }
      rest = countEvents(rest + chunk.toString('latin1'), latencies);
    });
  });
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
