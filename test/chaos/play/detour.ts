import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import path from 'node:path';
import type { Step } from '../../sim/hunt/plan.ts';
import { addressesOf, inNetworkOf, pidOf } from '../losses/faults.ts';
import type { ComposeCluster } from '../support/compose-cluster.ts';
import { apiServersOf } from '../support/compose-form.ts';
import type { DetourSettings } from './detour-main.ts';
import type { End } from './users.ts';

const PROGRAM = path.join(import.meta.dirname, 'detour-main.ts');
/** What the detour itself sends goes the straight way: it is known by its group. */
const GROUP = 65_533;
const [FIRST_PORT, PORTS] = [23_000, 10_000];
const REDIS_PORT = 6379;
const API_PORT = 6443;

type Effect = Pick<DetourSettings, 'delayMs' | 'delays' | 'isExact' | 'lostAnswers'>;
const EFFECT: Effect = { delayMs: 0, delays: 'both', isExact: false, lostAnswers: 0 };
let lastPort = 0;

/** Leads the connections of an API server to its store over a detour that opens them. */
export async function detourToStore(cluster: ComposeCluster, container: string, effect: Partial<Effect>): Promise<End> {
  const folder = path.join(cluster.stateFolder, 'redis');
  const read = (file: string): string => readFileSync(path.join(folder, file), 'utf8');
  const identity = { cert: read('server.crt'), key: read('server.key'), ca: read('ca.crt'), name: 'redis' };
  const [host = ''] = await addressesOf(cluster.containerOf('redis'));
  const to = { host, port: REDIS_PORT };
  return lead(container, { ...EFFECT, ...effect, to, tls: identity });
}

/** Leads what a process and the API servers say to each other over a detour. */
export async function detourToApi(cluster: ComposeCluster, container: string, { target, value }: Step): Promise<End> {
  const effect = { ...EFFECT, delayMs: value ?? 0 };
  if (target.startsWith('apiserver')) {
    const [host = ''] = await addressesOf(container);
    return lead(container, { ...effect, to: { host, port: API_PORT } }, 'PREROUTING');
  }
  const servers = await Promise.all(
    apiServersOf(cluster.form).map((service) => addressesOf(cluster.containerOf(service))),
  );
  const ends: End[] = [];
  for (const host of servers.flat()) ends.push(await lead(container, { ...effect, to: { host, port: API_PORT } }));
  return () => Promise.all(ends.map((end) => end()));
}

/** Connections that are open already are reset, so that the next ones take the detour. */
async function lead(
  container: string,
  effect: Omit<DetourSettings, 'listen'>,
  chain: 'OUTPUT' | 'PREROUTING' = 'OUTPUT',
): Promise<End> {
  const port = FIRST_PORT + (lastPort++ % PORTS);
  const { host, port: toPort } = effect.to;
  const isInward = chain === 'PREROUTING';
  const settings: DetourSettings = { ...effect, listen: { host: isInward ? '0.0.0.0' : '127.0.0.1', port } };
  const stop = await start(container, settings);
  const meant = ['--protocol', 'tcp', '--destination', host, '--dport', String(toPort)];
  const own = isInward ? [] : ['--match', 'owner', '!', '--gid-owner', String(GROUP)];
  const redirect = ['nat', chain, ...meant, ...own, '--jump', 'REDIRECT', '--to-ports', String(port)];
  const reset = ['--jump', 'REJECT', '--reject-with', 'tcp-reset'];
  const old = isInward
    ? ['filter', 'INPUT', ...meant, '!', '--in-interface', 'lo', ...reset]
    : ['filter', 'OUTPUT', ...meant, ...own, ...reset];
  const rule = ([table = '', ...rest]: readonly string[], act: string): Promise<string> =>
    inNetworkOf(container, ['iptables', '--table', table, act, ...rest]);
  for (const each of [redirect, old]) await rule(each, '--insert');
  return async () => {
    for (const each of [old, redirect]) await rule(each, '--delete').catch(String);
    stop();
  };
}

async function start(container: string, settings: DetourSettings): Promise<() => void> {
  const enter = ['--target', await pidOf(container), '--net', '--'];
  const node = [process.execPath, '--disable-warning=ExperimentalWarning', PROGRAM, JSON.stringify(settings)];
  const child = spawn('nsenter', [...enter, ...node], { gid: GROUP, stdio: ['pipe', 'pipe', 'inherit'] });
  await Promise.race([
    once(child.stdout, 'data'),
    once(child, 'exit').then(() => {
      throw new Error('the detour did not start');
    }),
  ]);
  return () => child.stdin.end();
}
