import assert from 'node:assert/strict';
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, readdir, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createSystemClock } from '@holdfast/platform';
import { Redis } from 'ioredis';
import { freePort } from './free-port.ts';

const START_DEADLINE_MS = 60_000;
const POLL_MS = 10;

/** The settings under which the store accepts a server. */
const SAFE_SETTINGS: Readonly<Record<string, string>> = {
  appendonly: 'yes',
  appendfsync: 'always',
  'no-appendfsync-on-rewrite': 'no',
  'aof-load-truncated': 'yes',
  'maxmemory-policy': 'noeviction',
  save: '',
  'io-threads': '1',
};

export interface RedisServer extends AsyncDisposable {
  readonly url: string;
  readonly port: number;
  /** The server's data directory. */
  readonly directory: string;
  /** SIGKILL: nothing is flushed by the server itself. */
  kill(): Promise<void>;
  /** Kills and starts again on the same port and directory; resolves when the server answers. */
  restart(settings?: Readonly<Record<string, string>>): Promise<void>;
  /** SIGSTOP and SIGCONT. */
  pause(): void;
  resume(): void;
  stop(): Promise<void>;
}

/** A `redis-server` of its own on a free port and in a temporary directory, durable unless `settings` say otherwise. */
export async function startRedis(settings: Readonly<Record<string, string>> = {}): Promise<RedisServer> {
  const directory = await mkdtemp(join(tmpdir(), 'holdfast-redis-'));
  const port = await freePort();
  const base = { port: String(port), bind: '127.0.0.1', dir: directory, ...SAFE_SETTINGS, ...settings };
  const start = (overrides: Readonly<Record<string, string>> = {}): Promise<ChildProcess> =>
    startProcess(
      port,
      Object.entries({ ...base, ...overrides }).flatMap(([name, value]) => [`--${name}`, value]),
    );
  let child = await start().catch(async (error: unknown) => {
    await rm(directory, { recursive: true, force: true, maxRetries: 10 });
    throw error;
  });
  const kill = async (): Promise<void> => {
    if (child.exitCode !== null || child.signalCode !== null) return;
    const exited = once(child, 'exit');
    child.kill('SIGKILL');
    await exited;
  };
  const stop = async (): Promise<void> => {
    await kill();
    // A rewrite of the append-only file is a process of its own, and may make its file while the directory is removed.
    await rm(directory, { recursive: true, force: true, maxRetries: 10 });
  };
  return {
    url: `redis://127.0.0.1:${port}`,
    port,
    directory,
    kill,
    restart: async (overrides) => {
      await kill();
      // A torn part that is not the last one is repaired, and that start refused: whoever supervises the server starts it again.
      child = await start(overrides).catch((error: unknown) => {
        if (!/the truncated file is not the last file/.test(String(error))) throw error;
        return start(overrides);
      });
    },
    pause: () => void child.kill('SIGSTOP'),
    resume: () => void child.kill('SIGCONT'),
    stop,
    [Symbol.asyncDispose]: stop,
  };
}

async function startProcess(port: number, parameters: readonly string[]): Promise<ChildProcess> {
  const child = spawn('redis-server', parameters, { stdio: ['ignore', 'pipe', 'pipe'] });
  let output = '';
  child.stdout?.on('data', (chunk) => {
    output += String(chunk);
  });
  const failed = new Promise<never>((_, reject) => {
    child.once('error', (cause) => {
      reject(new Error('redis-server cannot be started: install it (Debian: apt-get install redis-server)', { cause }));
    });
    child.once('exit', (code) => reject(new Error(`redis-server ended with ${code}:\n${output}`)));
  });
  failed.catch(() => {});
  const over = new AbortController();
  await Promise.race([answers(port, over.signal), failed]).catch((error: unknown) => {
    over.abort();
    child.kill('SIGKILL');
    throw error;
  });
  return child;
}

async function answers(port: number, over: AbortSignal): Promise<void> {
  const clock = createSystemClock();
  const deadline = clock.monotonic() + START_DEADLINE_MS;
  while (!over.aborted) {
    const redis = new Redis(port, '127.0.0.1', { lazyConnect: true, retryStrategy: () => null });
    redis.on('error', () => {});
    try {
      await redis.connect();
      return;
    } catch (cause) {
      if (clock.monotonic() > deadline) throw new Error(`redis-server does not answer on port ${port}`, { cause });
      await clock.sleep(POLL_MS);
    } finally {
      redis.disconnect();
    }
  }
}

/** The part to which the server writes now: the last. */
export async function appendOnlyFile(server: RedisServer): Promise<string> {
  const folder = join(server.directory, 'appendonlydir');
  const numberOf = (name: string): number => Number(/\.(\d+)\.incr\.aof$/.exec(name)?.[1] ?? 0);
  const [newest] = (await readdir(folder)).toSorted((a, b) => numberOf(b) - numberOf(a));
  assert.ok(newest !== undefined && numberOf(newest) > 0, 'the server keeps an append-only file');
  return join(folder, newest);
}
