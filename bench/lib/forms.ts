import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { createInterface } from 'node:readline';
import { createClusterPki } from '../../libs/pki/src/cluster-pki.ts';
import { createCredentials, formatTokenFile } from '../../libs/pki/src/credentials.ts';
import { formatKubeconfig } from '../../libs/pki/src/kubeconfig.ts';
import { STANDARD_SERVER_NAMES } from '../../libs/pki/src/names.ts';
import { startLogServers } from '../../test/support/log-servers.ts';
import { startNatsServer } from '../../test/support/nats-server.ts';
import { NODE_FLAGS } from '../../test/support/node-flags.ts';
import { startRedis } from '../../test/support/redis-server.ts';

export const FORMS = ['sqlite', 'memory', 'redis-nats', 'distributed', 'zones'] as const;
export type Form = (typeof FORMS)[number];

/** A server that the bench started for itself. */
export interface Started {
  readonly kubeconfig: string;
  readonly pid: number;
  /** From the start of its process until it serves. */
  readonly startMs: number;
  readonly stop: () => Promise<void>;
}

/** How a server is started that is looked at more closely. */
export interface Placement {
  /** Keeps the data of a server for the next one; whoever made it removes it. */
  readonly directory?: string;
  readonly nodeFlags?: readonly string[];
  /** Receives each line that the server prints. */
  readonly onLine?: (line: string) => void;
}

/** A large store on a busy machine takes minutes. */
const READY_DEADLINE_MS = 300_000;
const ROOT = path.join(import.meta.dirname, '..', '..');

/**
 * `sqlite`, `memory`, `redis-nats`: a whole cluster in one process. `distributed`: the API server as a process of its own. Redis
 * (append-only file, synced always) and NATS are started for these two. `zones`: three NATS servers with a log, and an API
 * server for each, of which one is measured.
 */
export async function startForm(form: Form, extra: readonly string[] = [], place: Placement = {}): Promise<Started> {
  const directory = place.directory ?? mkdtempSync(path.join(tmpdir(), 'holdfast-bench-'));
  const cleanUp: (() => Promise<unknown>)[] = [];
  if (place.directory === undefined) cleanUp.push(async () => rmSync(directory, { recursive: true, force: true }));
  const stop = async (): Promise<void> => {
    for (const step of cleanUp.toReversed()) await step();
  };
  try {
    const links = await startStore(form, cleanUp);
    const command =
      form === 'distributed' || form === 'zones'
        ? await apiServerCommand(directory, links)
        : embeddedCommand(directory, form, [...links, ...extra]);
    if (form === 'zones') for (let other = 1; other < ZONES; other++) await run(command, cleanUp, {});
    return { ...(await run(command, cleanUp, place)), stop };
  } catch (error) {
    await stop();
    throw error;
  }
}

const ZONES = 3;

/** What connects servers to the store and the bus of the form. */
async function startStore(form: Form, cleanUp: (() => Promise<unknown>)[]): Promise<readonly string[]> {
  if (form === 'zones') return startLog(cleanUp);
  return form === 'redis-nats' || form === 'distributed' ? startServers(cleanUp) : [];
}

async function startLog(cleanUp: (() => Promise<unknown>)[]): Promise<readonly string[]> {
  const servers = await startLogServers({ count: ZONES });
  cleanUp.push(async () => servers[Symbol.asyncDispose]());
  const [urls, monitors] = [servers.urls.join(','), servers.monitors.join(',')];
  return ['--store', urls, '--store-monitors', monitors, '--bus', urls];
}

async function startServers(cleanUp: (() => Promise<unknown>)[]): Promise<readonly string[]> {
  const redis = await startRedis();
  cleanUp.push(() => redis.stop());
  const nats = await startNatsServer();
  cleanUp.push(async () => nats[Symbol.asyncDispose]());
  return ['--store', redis.url, '--bus', nats.url];
}

interface Command {
  readonly parameters: readonly string[];
  /** Reads a line of output: the kubeconfig once the server is ready. */
  readonly readyIn: (line: unknown) => string | undefined;
}

function embeddedCommand(directory: string, form: Form, links: readonly string[]): Command {
  const own = ['--data-dir', directory, '--port', '0', '--json', ...(form === 'memory' ? ['--memory'] : []), ...links];
  return {
    parameters: ['services/holdfast/src/main.ts', 'start', ...own],
    readyIn: (line) => (field(line, 'event') === 'ready' ? String(field(line, 'kubeconfig')) : undefined),
  };
}

/** Prepares what `holdfast setup` does, for an API server alone. */
async function apiServerCommand(directory: string, links: readonly string[]): Promise<Command> {
  const file = (name: string, text: string): string => {
    const target = path.join(directory, name);
    writeFileSync(target, text);
    return target;
  };
  const credentials = createCredentials([]);
  const pki = await createClusterPki(STANDARD_SERVER_NAMES, performance.timeOrigin + performance.now());
  const token = credentials.get('admin')?.token ?? '';
  const own = ['--port', '0', '--token-file', file('tokens.csv', formatTokenFile(credentials.values()))];
  const tls = [
    '--tls-cert-file',
    file('tls.crt', pki.serverCertificate),
    '--tls-key-file',
    file('tls.key', pki.serverKey),
  ];
  return {
    parameters: ['services/apiserver/src/main.ts', ...own, ...tls, ...links],
    readyIn: (line) => {
      if (field(line, 'msg') !== 'the API is served') return undefined;
      const server = `https://127.0.0.1:${String(field(line, 'port'))}`;
      return file(
        'kubeconfig',
        formatKubeconfig({ contexts: [{ name: 'bench', server }], caCertificate: pki.caCertificate, token }),
      );
    },
  };
}

async function run(
  command: Command,
  cleanUp: (() => Promise<unknown>)[],
  { nodeFlags = [], onLine }: Placement,
): Promise<Omit<Started, 'stop'>> {
  const startedAt = performance.now();
  const child = spawn(process.execPath, [...NODE_FLAGS, ...nodeFlags, ...command.parameters], {
    cwd: ROOT,
    env: { MALLOC_ARENA_MAX: '1', ...process.env },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  cleanUp.push(() => end(child));
  const kubeconfig = await readiness(child, command, onLine);
  return { kubeconfig, pid: child.pid ?? 0, startMs: performance.now() - startedAt };
}

function readiness(child: ChildProcess, command: Command, onLine: Placement['onLine']): Promise<string> {
  return new Promise((resolve, reject) => {
    let last = '';
    const fail = (what: string): void => reject(new Error(`${what}: ${last}`));
    const timer = setTimeout(() => fail('the server is not ready in time'), READY_DEADLINE_MS);
    child.once('exit', (code) => fail(`the server ended with ${code}`));
    const take = (text: string): void => {
      last = text;
      onLine?.(text);
      const kubeconfig = command.readyIn(parseLine(text));
      if (kubeconfig === undefined) return;
      clearTimeout(timer);
      resolve(kubeconfig);
    };
    for (const input of [child.stdout, child.stderr]) if (input !== null) createInterface({ input }).on('line', take);
  });
}

async function end(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return;
  const ended = once(child, 'exit');
  child.kill('SIGTERM');
  await ended;
}

function parseLine(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

function field(value: unknown, name: string): unknown {
  return typeof value === 'object' && value !== null
    ? Object.entries(value).find(([key]) => key === name)?.[1]
    : undefined;
}
