import { type ChildProcess, spawn } from 'node:child_process';
import { existsSync } from 'node:fs';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { connect } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { eventually } from '@holdfast/bus/contract';
import { type NatsServerConfig, type NatsUser, natsServerConfig } from '@holdfast/bus/nats';
import { freePort } from './free-port.ts';

/** A real nats-server of this test's own: free port, own directory, ended with the test. */
export interface NatsServer extends AsyncDisposable {
  readonly url: string;
  /** SIGKILL, and start again on the same port and data. */
  restart(): Promise<void>;
  kill(): Promise<void>;
  start(): Promise<void>;
  /** The process is suspended without its connections noticing. */
  pause(): void;
  resume(): void;
  /** Kills it and removes its data. */
  wipe(): Promise<void>;
}

const SYSTEM_PATHS = ['/usr/sbin/nats-server', '/usr/local/sbin/nats-server'];

/** Without users everyone has all permissions. */
export async function startNatsServer(
  options: {
    readonly users?: readonly NatsUser[];
    readonly tls?: NonNullable<NatsServerConfig['tls']>;
    readonly maxPayloadBytes?: number;
    /** As the servers of a replicated log: a recent version that syncs each message. */
    readonly syncsAlways?: boolean;
  } = {},
): Promise<NatsServer> {
  const directory = await mkdtemp(join(tmpdir(), 'holdfast-nats-'));
  const port = await freePort();
  const storeDir = join(directory, 'jetstream');
  const configFile = join(directory, 'nats.conf');
  const { users = [], tls, maxPayloadBytes, syncsAlways = false } = options;
  const text = natsServerConfig({ host: '127.0.0.1', port, storeDir, users, ...(tls === undefined ? {} : { tls }) });
  const config = JSON.parse(text);
  if (users.length === 0) delete config.authorization;
  if (maxPayloadBytes !== undefined) config.max_payload = maxPayloadBytes;
  if (syncsAlways) config.jetstream.sync_interval = 'always';
  await writeFile(configFile, JSON.stringify(config));
  const program = syncsAlways ? 'nats-server-next' : command();

  let child: ChildProcess | undefined;
  const start = async (): Promise<void> => {
    child = spawn(program, ['-c', configFile], { stdio: 'ignore' });
    let failure: Error | undefined;
    child.once('error', (error) => {
      failure = error;
    });
    await eventually(async () => {
      if (failure !== undefined) throw new Error(MISSING, { cause: failure });
      return answers(port);
    }, 'nats-server accepts connections');
  };
  const kill = async (): Promise<void> => {
    const running = child;
    child = undefined;
    if (running === undefined || running.pid === undefined || running.exitCode !== null) return;
    const ended = new Promise((resolve) => running.once('exit', resolve));
    running.kill('SIGKILL');
    await ended;
  };
  const dispose = async (): Promise<void> => {
    await kill();
    await rm(directory, { recursive: true, force: true });
  };
  await start().catch(async (error: unknown) => {
    await dispose();
    throw error;
  });
  return {
    url: `${tls === undefined ? 'nats' : 'tls'}://127.0.0.1:${port}`,
    start,
    kill,
    restart: async () => {
      await kill();
      await start();
    },
    pause: () => void child?.kill('SIGSTOP'),
    resume: () => void child?.kill('SIGCONT'),
    wipe: async () => {
      await kill();
      await rm(storeDir, { recursive: true, force: true });
    },
    [Symbol.asyncDispose]: dispose,
  };
}

const MISSING = 'nats-server cannot be started: install it (Debian and Ubuntu: apt-get install nats-server)';

/** Debian puts it where the PATH of a plain user may not reach. */
function command(): string {
  return SYSTEM_PATHS.find((path) => existsSync(path)) ?? 'nats-server';
}

function answers(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = connect({ port, host: '127.0.0.1' });
    // The server speaks first: INFO means that it is ready, an accepted connection alone does not.
    socket.once('data', (data) => {
      socket.destroy();
      resolve(data.toString().startsWith('INFO'));
    });
    socket.once('error', () => resolve(false));
  });
}
