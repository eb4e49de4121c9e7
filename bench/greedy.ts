import { fork } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { describeSettings, readSettings, type SettingSpecs } from '@holdfast/platform/config';
import { ascending, percentile, printFigure } from './lib/figures.ts';
import { startForm } from './lib/forms.ts';
import { openTls, type Target } from './lib/tls-connection.ts';

/** Measures the delay of a node's heartbeat beside a client that always has many requests in flight. */
const SETTINGS = {
  'in-flight': { kind: 'integer', help: 'Requests of the greedy client', default: 500, min: 1 },
  seconds: { kind: 'integer', help: 'How long', default: 10, min: 1 },
  against: { kind: 'string', help: 'Be the greedy client of the server of this kubeconfig, in a process of its own' },
  help: { kind: 'boolean', help: 'Print this list' },
} as const satisfies SettingSpecs;

const HEARTBEAT_EVERY_MS = 20;
const LEASES = '/apis/coordination.k8s.io/v1/namespaces/kube-node-lease/leases';
const NODE = ['impersonate-user: system:node:greedy-bench', 'impersonate-group: system:nodes'];
const GREEDY = ['impersonate-user: greedy', 'impersonate-group: system:serviceaccounts'];

const settings = readSettings(SETTINGS, { argv: process.argv.slice(2), env: {} });
if (settings.help) {
  process.stdout.write(`node bench/greedy.ts\n${describeSettings(SETTINGS)}`);
  process.exit(0);
}
if (settings.against === undefined) await measure();
else await beGreedy(readTarget(settings.against));

async function measure(): Promise<void> {
  const started = await startForm('memory');
  const greed = fork(import.meta.filename, [...process.argv.slice(2), '--against', started.kubeconfig]);
  try {
    const target = readTarget(started.kubeconfig);
    await mayRead(target);
    const heartbeat = await connection(target, NODE);
    const lease = JSON.stringify({ metadata: { name: 'greedy-bench' }, spec: { leaseDurationSeconds: 40 } });
    await heartbeat('POST', LEASES, lease);
    await once(greed, 'message');
    const took: number[] = [];
    for (const end = performance.now() + settings.seconds * 1_000; performance.now() < end; ) {
      const began = performance.now();
      await heartbeat('GET', `${LEASES}/greedy-bench`);
      took.push(performance.now() - began);
      await new Promise((resolve) => setTimeout(resolve, HEARTBEAT_EVERY_MS));
    }
    const answered = once(greed, 'message');
    greed.send('count');
    const sorted = ascending(took);
    const [answers] = await answered;
    process.stdout.write(`the greedy client was answered ${JSON.stringify(answers)}\n`);
    const note = `beside ${settings['in-flight']} requests in flight, ${took.length} heartbeats; goal of p99: 50`;
    printFigure({ row: 'heartbeat p50', value: percentile(sorted, 0.5), unit: 'ms', note });
    printFigure({ row: 'heartbeat p99', value: percentile(sorted, 0.99), unit: 'ms', note });
  } finally {
    greed.kill('SIGKILL');
    await started.stop();
  }
}

/** The greedy client's requests are served, not refused. */
async function mayRead(target: Target): Promise<void> {
  const admin = await connection(target, []);
  const subjects = [{ kind: 'User', apiGroup: 'rbac.authorization.k8s.io', name: 'greedy' }];
  const roleRef = { kind: 'ClusterRole', apiGroup: 'rbac.authorization.k8s.io', name: 'view' };
  const binding = JSON.stringify({ metadata: { name: 'greedy-bench' }, subjects, roleRef });
  const status = await admin('POST', '/apis/rbac.authorization.k8s.io/v1/clusterrolebindings', binding);
  if (status !== '201') throw new Error(`the greedy client was given no role: ${status}`);
}

/** Runs until its parent ends it. */
async function beGreedy(target: Target): Promise<void> {
  const sends = await Promise.all(Array.from({ length: settings['in-flight'] }, () => connection(target, GREEDY)));
  process.send?.('in flight');
  const answers = new Map<string, number>();
  const count = (status: string): void => void answers.set(status, (answers.get(status) ?? 0) + 1);
  process.once('message', () => process.send?.([...answers]));
  await Promise.all(
    sends.map(async (send) => {
      for (;;) count(await send('GET', '/api/v1/namespaces/default/configmaps?limit=10'));
    }),
  );
}

type Send = (method: string, path: string, body?: string) => Promise<string>;

/** One request at a time; responses are short enough to arrive in one piece. */
async function connection(target: Target, headers: readonly string[]): Promise<Send> {
  let answered = (_status: string): void => {};
  const socket = await openTls(target, (bytes) => answered(bytes.toString('latin1', 9, 12)));
  const common = [`host: ${target.host}`, `authorization: Bearer ${target.token}`, ...headers];
  return (method, path, body = '') =>
    new Promise((resolve) => {
      answered = resolve;
      const lines = [...common, 'content-type: application/json', `content-length: ${Buffer.byteLength(body)}`];
      socket.write(`${method} ${path} HTTP/1.1\r\n${lines.join('\r\n')}\r\n\r\n${body}`);
    });
}

function readTarget(kubeconfig: string): Target {
  const text = readFileSync(kubeconfig, 'utf8');
  const url = new URL(/server:\s*"?([^"\s]+)/.exec(text)?.[1] ?? '');
  return { host: url.hostname, port: Number(url.port), token: /token:\s*"?([^"\s]+)/.exec(text)?.[1] ?? '' };
}
