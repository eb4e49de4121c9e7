import { spawn } from 'node:child_process';
import { closeSync, mkdirSync, openSync, readdirSync } from 'node:fs';
import { basename, dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { HELPER_ENVIRONMENT, hasHelper, helper } from '../runtime/helpers.ts';
import { copyJoined, writeProgram } from '../runtime/process/supervisor-launch.ts';
import { NETWORK_TEST_MS } from './limits.ts';

/**
 * Without root the namespaces belong to a user namespace, in which this user keeps its number and gets the rights that
 * the agent needs. Programs of pods lose them when they are executed.
 */
const isolated = (): readonly [string, ...string[]] => {
  const user = process.getuid?.() === 0 ? [] : ['--user', '--map-current-user', '--keep-caps'];
  return [helper('unshare'), ...user, '--mount', '--net', '--'];
};

const NEEDED = ['unshare', 'nsenter', 'umount', 'ip', ...(process.getuid?.() === 0 ? ['setpriv'] : [])];

/** Makes a link, and a namespace that a mount keeps: what every pod needs. */
const TRIAL = [
  'set -e',
  'ip link set lo up',
  'ip link add trial0 type veth peer name trial1',
  'mount -o remount,bind,rw /proc/sys 2>/dev/null || true',
  '[ "$(cat /proc/sys/net/ipv4/ip_forward)" = 1 ] || echo 1 >/proc/sys/net/ipv4/ip_forward',
  'mount -t tmpfs holdfast /tmp',
  ': >/tmp/kept',
  'unshare --net=/tmp/kept -- true',
  'nsenter --net=/tmp/kept -- ip link set lo up',
].join('\n');

/** Tried, not guessed. Resolves with why pods cannot have addresses of their own here; '' when they can. */
export function networkRefusal(): Promise<string> {
  const missing = NEEDED.filter((name) => !hasHelper(name));
  if (missing.length > 0) return Promise.resolve(`${missing.join(', ')} is not installed`);
  const [program, ...options] = isolated();
  return new Promise((resolve) => {
    const child = spawn(program, [...options, '/bin/sh', '-c', TRIAL], {
      env: HELPER_ENVIRONMENT,
      stdio: ['ignore', 'ignore', 'pipe'],
      timeout: NETWORK_TEST_MS,
      killSignal: 'SIGKILL',
    });
    let said = '';
    child.stderr.setEncoding('utf8').on('data', (text: string) => {
      said = `${said}${text}`.slice(0, 1_000);
    });
    child.on('error', (error) => resolve(error.message));
    child.on('close', (code) => {
      const [line = ''] = said.trim().split('\n').slice(-1);
      resolve(code === 0 ? '' : line === '' ? 'the system refuses network namespaces' : line);
    });
  });
}

/** Whether rules for services and policies can be loaded. */
export const canFilter = (): boolean => hasHelper('nft');

/** Starts the agent so that it outlives this process, like the supervisor of the pods whose addresses it keeps. */
export function launchAgent(directory: string): void {
  mkdirSync(directory, { recursive: true, mode: 0o700 });
  const program = agentProgram(directory);
  const log = openSync(join(directory, 'agent.log'), 'a', 0o600);
  const [command, ...options] = isolated();
  const node = [process.execPath, '--max-old-space-size=64', '--max-semi-space-size=1', '--v8-pool-size=0'];
  const child = spawn(command, [...options, ...node, program, directory], {
    cwd: directory,
    env: HELPER_ENVIRONMENT,
    detached: true,
    stdio: ['ignore', log, log],
  });
  closeSync(log);
  // The caller has its own deadline and retries then.
  child.on('error', () => undefined);
  child.unref();
}

/** Files outside the agent's folder that it imports. They are copied with it. */
export const SHARED = [
  'domain/address-pool',
  'runtime/helpers',
  'runtime/inside-dialer',
  'runtime/process/standalone',
] as const;

function agentProgram(directory: string): string {
  const sources = dirname(dirname(fileURLToPath(import.meta.url)));
  const folder = join('pod-network', 'agent');
  if (!import.meta.url.endsWith('.ts')) return join(sources, folder, 'agent-main.js');
  const target = join(directory, 'program');
  const program = join(target, folder, 'agent-main.mjs');
  mkdirSync(dirname(program), { recursive: true, mode: 0o700 });
  if (copyJoined(new URL('./agent/agent-main.ts', import.meta.url), program)) return program;
  const own = readdirSync(join(sources, folder))
    .filter((file) => file.endsWith('.ts') && !file.endsWith('.test.ts'))
    .map((file) => join(folder, basename(file, '.ts')));
  for (const name of [...SHARED, ...own]) {
    mkdirSync(dirname(join(target, name)), { recursive: true, mode: 0o700 });
    writeProgram(join(sources, `${name}.ts`), join(target, `${name}.mjs`));
  }
  return program;
}
