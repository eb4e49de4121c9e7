import { type ChildProcess, spawn, spawnSync } from 'node:child_process';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { connect } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { eventually } from '@holdfast/platform/contract';
import { isOldServer } from '../../libs/store/src/log/guarantees.ts';
import { freePort } from './free-port.ts';

/** How long a store may wait for three servers: they choose leaders again and again while the machine has no core for them. */
export const LOG_PATIENCE_MS = 120_000;

/** NATS servers of this test's own that hold a log: one, or a cluster of three. */
export interface LogServers extends AsyncDisposable {
  readonly urls: readonly string[];
  readonly monitors: readonly string[];
  /** True where this system can only start a server before 2.11: the log is then opened with the setting that accepts it. */
  readonly acceptOldServers: boolean;
  /** SIGKILL. */
  kill(index: number): Promise<void>;
  start(index: number): Promise<void>;
  /** SIGSTOP and SIGCONT: the connections do not notice. */
  pause(index: number): void;
  resume(index: number): void;
  /** Where the data of a server are. */
  folderOf(index: number): string;
  /** Removes the data of a server that was killed. */
  wipe(index: number): Promise<void>;
}

interface Ports {
  readonly client: number;
  readonly cluster: number;
  readonly monitor: number;
}

export interface LogServersOptions {
  readonly count?: 1 | 3;
  /** Off: acknowledged data may be lost with the power. */
  readonly syncAlways?: boolean;
  readonly jetstream?: boolean;
  /** Where the data are; a temporary folder otherwise. */
  readonly dataIn?: string | ((index: number) => string);
  /** Where the servers reach each other's route ports. */
  readonly routePort?: (port: number) => Promise<number>;
}

export async function startLogServers({
  count = 1,
  syncAlways = true,
  jetstream = true,
  routePort = async (port) => port,
  dataIn,
}: LogServersOptions = {}): Promise<LogServers> {
  const acceptOldServers = hasOldServer();
  const directory = await mkdtemp(join(tmpdir(), 'holdfast-log-'));
  const ports: Ports[] = [];
  for (let i = 0; i < count; i++)
    ports.push({ client: await freePort(), cluster: await freePort(), monitor: await freePort() });
  const routes: number[] = [];
  for (const { cluster } of ports) routes.push(await routePort(cluster));
  const children: (ChildProcess | undefined)[] = [];
  const folderOf = typeof dataIn === 'function' ? dataIn : (): string => dataIn ?? directory;
  const storeDir = (index: number): string => join(folderOf(index), `data-${index}`);
  for (const [index, { client, cluster, monitor }] of ports.entries()) {
    const config = {
      server_name: `n${index}`,
      host: '127.0.0.1',
      port: client,
      http: `127.0.0.1:${monitor}`,
      max_payload: 8 * 1024 * 1024,
      ...(jetstream
        ? { jetstream: { store_dir: storeDir(index), ...(syncAlways ? { sync_interval: 'always' } : {}) } }
        : {}),
      ...(count === 1
        ? {}
        : {
            cluster: {
              name: 'log',
              host: '127.0.0.1',
              port: cluster,
              advertise: `127.0.0.1:${routes[index]}`,
              routes: routes.map((route) => `nats-route://127.0.0.1:${route}`),
            },
          }),
    };
    await writeFile(join(directory, `${index}.conf`), JSON.stringify(config));
  }
  const start = async (index: number): Promise<void> => {
    children[index] = spawn('nats-server-next', ['-c', join(directory, `${index}.conf`)], { stdio: 'ignore' });
    await eventually(() => answers(ports[index]?.client ?? 0), 'nats-server accepts connections');
  };
  const kill = async (index: number): Promise<void> => {
    const child = children[index];
    children[index] = undefined;
    if (child === undefined || child.exitCode !== null || child.signalCode !== null) return;
    const ended = new Promise((resolve) => child.once('exit', resolve));
    child.kill('SIGKILL');
    await ended;
  };
  const dispose = async (): Promise<void> => {
    await Promise.all(ports.map((_, index) => kill(index)));
    await rm(directory, { recursive: true, force: true, maxRetries: 10 });
  };
  await Promise.all(ports.map((_, index) => start(index))).catch(async (error: unknown) => {
    await dispose();
    throw error;
  });
  return {
    urls: ports.map(({ client }) => `nats://127.0.0.1:${client}`),
    monitors: ports.map(({ monitor }) => `http://127.0.0.1:${monitor}`),
    acceptOldServers,
    kill,
    start,
    pause: (index) => void children[index]?.kill('SIGSTOP'),
    resume: (index) => void children[index]?.kill('SIGCONT'),
    folderOf: storeDir,
    wipe: (index) => rm(storeDir(index), { recursive: true, force: true }),
    [Symbol.asyncDispose]: dispose,
  };
}

/** Says so: what these tests show of replication is then shown of a version that is refused elsewhere. */
function hasOldServer(): boolean {
  const { stdout } = spawnSync('nats-server-next', ['--version'], { encoding: 'utf8' });
  const version = /v(\d+\.\d+\.\d+)/.exec(stdout)?.[1] ?? '';
  if (!isOldServer(version)) return false;
  process.stdout.write(
    `nats-server-next has version ${version}: accepted for these tests (--store-accept-old-servers)\n`,
  );
  return true;
}

function answers(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = connect({ port, host: '127.0.0.1' });
    socket.once('data', (data) => {
      socket.destroy();
      resolve(data.toString().startsWith('INFO'));
    });
    socket.once('error', () => resolve(false));
  });
}
