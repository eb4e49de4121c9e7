import { execFile } from 'node:child_process';
import { chmod, mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { promisify } from 'node:util';
import { type ApiClient, createApiClient } from '@holdfast/client';
import { createHttpsTransport } from '@holdfast/client/https';
import { createSystemClock } from '@holdfast/platform';
import { DockerComposeEnvironment } from 'testcontainers';
import { parse } from 'yaml';
import { freePort } from '../../support/free-port.ts';
import { apiServersOf, busesOf, type FormName, mastersOf, nodesOf, storesOf } from './compose-form.ts';

const execute = promisify(execFile);
const root = path.resolve(import.meta.dirname, '../../..');
const OUTPUT_LIMIT_BYTES = 64 * 1024 * 1024;
const LOG_LINES_SHOWN = '60';

/** The distributed form under a project name, ports and folders of its own. */
export interface ComposeCluster extends AsyncDisposable {
  readonly form: FormName;
  /** An administrator's client; any API server answers it. */
  readonly admin: ApiClient;
  /** The same administrator, once for each API server: nobody else answers it. */
  readonly users: readonly ApiClient[];
  /** An administrator's kubeconfig; it names the first of the servers. */
  readonly kubeconfig: string;
  /** Addresses of the API servers on this machine. */
  readonly servers: readonly string[];
  /** The address of the console on this machine. */
  readonly console: string;
  /** A folder of this machine with the credentials of every service, as they were at the start. */
  readonly stateFolder: string;
  /** The folder of this machine that one API server has as /etc/holdfast: no other reads its files. */
  readonly filesOf: (apiServer: string) => string;
  /** A folder of this machine that every node sees as /shared. */
  readonly sharedFolder: string;
  /** Where the clocks of the containers are, when they have clocks of their own. */
  readonly clocksFolder: string | undefined;
  /** Disconnects a service from a network without a notification. A node has no other network. */
  disconnect(service: string, network?: Network): Promise<void>;
  connect(service: string, network?: Network): Promise<void>;
  /** SIGKILL, and start again. */
  crash(service: string): Promise<void>;
  /** The name of the container of a service. */
  containerOf(service: string): string;
  /** The last output of the containers, for a failed test. */
  logs(): Promise<string>;
}

/** A name with the addresses of all nodes. */
export const ALL_NODES = 'nodes';

export type Network = 'cluster' | 'control';

export interface ComposeExtras {
  /** S unless it says something else. */
  readonly form?: FormName;
  readonly profiles?: readonly string[];
  /** Further compose files, absolute paths: what they say is added to docker-compose.yml. */
  readonly files?: readonly string[];
  readonly clocksFolder?: string | undefined;
}

const COMPOSE_FILES: Readonly<Record<FormName, readonly string[]>> = {
  S: [path.join(root, 'docker-compose.yml')],
  H: [path.join(root, 'docker-compose.yml'), path.join(root, 'docker-compose.ha.yml')],
};

export async function startComposeCluster(
  project: string,
  settings: Readonly<Record<string, string>>,
  { form = 'S', profiles = [], files = [], clocksFolder }: ComposeExtras = {},
): Promise<ComposeCluster> {
  await execute(process.execPath, ['scripts/images/build.ts'], { cwd: root, maxBuffer: OUTPUT_LIMIT_BYTES });
  const scratch = await mkdtemp(path.join(tmpdir(), 'holdfast-chaos-'));
  const sharedFolder = path.join(scratch, 'shared');
  await mkdir(sharedFolder);
  await chmod(sharedFolder, 0o777);
  const ports: number[] = [];
  for (const _ of apiServersOf(form)) ports.push(await freePort());
  const consolePort = await freePort();
  const filesOf = (apiServer: string): string => path.join(scratch, OWN_FILES, apiServer);
  for (const apiServer of apiServersOf(form)) await mkdir(filesOf(apiServer), { recursive: true });
  const additions = path.join(scratch, 'additions.json');
  await writeFile(additions, JSON.stringify({ services: additionsTo(form, filesOf) }));
  const composeFiles = [...COMPOSE_FILES[form], additions, ...files];
  const environment = {
    ...settings,
    HOLDFAST_STATE_DIR: path.join(scratch, 'state'),
    HOLDFAST_SHARED_DIR: sharedFolder,
    ...Object.fromEntries(ports.map((port, i) => [`HOLDFAST_PORT_${i + 1}`, port])),
    HOLDFAST_CONSOLE_PORT: consolePort,
  };
  const environmentFile = path.join(scratch, 'environment');
  await writeFile(
    environmentFile,
    Object.entries(environment)
      .map(([name, value]) => `${name}=${value}\n`)
      .join(''),
  );
  const compose = async (...args: string[]): Promise<string> => {
    const chosen = [
      ...composeFiles.flatMap((file) => ['--file', file]),
      ...profiles.flatMap((profile) => ['--profile', profile]),
    ];
    const common = ['compose', '--project-name', project, '--env-file', environmentFile, ...chosen];
    return (await execute('docker', [...common, ...args], { cwd: root, maxBuffer: OUTPUT_LIMIT_BYTES })).stdout;
  };
  const down = () => compose('down', '--volumes', '--timeout', '1');
  let starting: Promise<unknown> | undefined;
  const removeAll = async (): Promise<void> => {
    CLEAN_UPS.delete(cleanUp);
    if (starting === undefined) await down();
    else {
      // It goes on creating what was not there yet, and fails when it waits for what is gone.
      await down().catch(() => undefined);
      await starting.then(down, down);
    }
    await removeScratch(scratch);
  };
  let removing: Promise<void> | undefined;
  const cleanUp = (): Promise<void> => (removing ??= removeAll());
  CLEAN_UPS.add(cleanUp);
  try {
    // Not cleaned up by a container of testcontainers' own, which would have to be pulled: `cleanUp` does it, always.
    starting = new DockerComposeEnvironment(root, composeFiles)
      .withProjectName(project)
      .withProfiles(...profiles)
      .withEnvironmentFile(environmentFile)
      .withAutoCleanup(false)
      .withClientOptions({ commandOptions: ['--wait'] })
      .up();
    await starting;
    starting = undefined;
    const kubeconfig = path.join(scratch, 'state', 'kubeconfig');
    const servers = ports.map((port) => `https://127.0.0.1:${port}`);
    const { admin, close } = await connectAsAdmin(kubeconfig, servers);
    const users = await Promise.all(
      servers.map((server) => connectAsAdmin(kubeconfig, [server], { requestDeadlineMs: USER_DEADLINE_MS })),
    );
    const containerOf = (service: string): string => `${project}-${service}-1`;
    return {
      form,
      admin,
      users: users.map((user) => user.admin),
      containerOf,
      kubeconfig,
      servers,
      console: `https://127.0.0.1:${consolePort}`,
      stateFolder: path.join(scratch, 'state'),
      filesOf,
      sharedFolder,
      clocksFolder,
      disconnect: async (service, network = 'cluster') => {
        await execute('docker', ['network', 'disconnect', `${project}_${network}`, containerOf(service)]);
      },
      connect: async (service, network = 'cluster') => {
        const names = [service, ...(nodesOf(form).includes(service) ? [ALL_NODES] : [])];
        const target = [`${project}_${network}`, containerOf(service)];
        await execute('docker', ['network', 'connect', ...names.flatMap((name) => ['--alias', name]), ...target]);
      },
      crash: async (service) => {
        await execute('docker', ['kill', '--signal', 'KILL', containerOf(service)]);
        await execute('docker', ['start', containerOf(service)]);
      },
      logs: () => compose('logs', '--no-color', '--tail', LOG_LINES_SHOWN),
      [Symbol.asyncDispose]: async () => {
        await Promise.all([close(), ...users.map((user) => user.close())]);
        await cleanUp();
      },
    };
  } catch (error) {
    const logs = await compose('logs', '--no-color', '--tail', LOG_LINES_SHOWN).catch(String);
    await cleanUp();
    throw new Error(`the distributed form did not start:\n${logs}`, { cause: error });
  }
}

const CLEAN_UPS = new Set<() => Promise<void>>();

/** Called when the run ends early. Returns what takes it back. */
export function onEarlyEnd(cleanUp: () => Promise<void>): () => void {
  CLEAN_UPS.add(cleanUp);
  return () => void CLEAN_UPS.delete(cleanUp);
}

/** Removes every cluster of this process that runs or starts, and what belongs to it. */
export async function removeComposeClusters(): Promise<void> {
  // The last first: containers are made of files that were there before them.
  for (const cleanUp of [...CLEAN_UPS].toReversed()) await cleanUp().catch(() => undefined);
}

/** On a machine that is short of cores a process takes longer to start than a user would wait. */
const PATIENCE = { healthcheck: { start_period: '300s' } };

/** Below the scratch folder, and in the container that makes the files. */
const OWN_FILES = 'apiservers';

function additionsTo(form: FormName, filesOf: ComposeCluster['filesOf']): Readonly<Record<string, object>> {
  const names = [...storesOf(form), ...busesOf(form), ...mastersOf(form), 'console'];
  const node = { ...PATIENCE, networks: { cluster: { aliases: [ALL_NODES] } } };
  const apiServer = (name: string): object => ({ ...PATIENCE, volumes: [`${filesOf(name)}:/etc/holdfast:ro`] });
  return Object.fromEntries([
    ['setup', setupOf(form, filesOf)] as const,
    ...names.map((name) => [name, PATIENCE] as const),
    ...apiServersOf(form).map((name) => [name, apiServer(name)] as const),
    ...nodesOf(form).map((name) => [name, node] as const),
  ]);
}

/** Every API server gets a copy of the folder that all share by default. A container makes it: owners and modes stay for any user of the test. */
function setupOf(form: FormName, filesOf: ComposeCluster['filesOf']): object {
  const copies = apiServersOf(form).map((name) => `cp -aT /state/apiserver /${OWN_FILES}/${name}`);
  return {
    command: [
      'sh',
      '-c',
      ['node --import=./scripts/sources/use.mjs services/holdfast/src/setup/main.ts', ...copies].join(' && '),
    ],
    volumes: apiServersOf(form).map((name) => `${filesOf(name)}:/${OWN_FILES}/${name}`),
  };
}

/** Longer than any request may take: whoever gives up before cannot see that one hangs. */
const USER_DEADLINE_MS = 90_000;

async function connectAsAdmin(
  kubeconfigFile: string,
  servers: readonly string[],
  patience: { readonly requestDeadlineMs?: number } = {},
): Promise<{ readonly admin: ApiClient; readonly close: () => Promise<void> }> {
  const kubeconfig = parse(await readFile(kubeconfigFile, 'utf8'));
  const caPem = Buffer.from(kubeconfig.clusters[0].cluster['certificate-authority-data'], 'base64').toString();
  const token: string = kubeconfig.users[0].user.token;
  const transport = createHttpsTransport({ servers, caPem, clock: createSystemClock(), ...patience });
  return {
    admin: createApiClient({ transport, token, userAgent: 'chaos-test' }),
    close: () => transport.close(),
  };
}

/** The containers' files belong to their users; a container can remove them for any user of the test. */
async function removeScratch(scratch: string): Promise<void> {
  const remove = ['sh', '-c', `rm -rf /scratch/state /scratch/shared /scratch/${OWN_FILES}`];
  await execute('docker', [
    'run',
    '--rm',
    '--network',
    'none',
    '--volume',
    `${scratch}:/scratch`,
    'holdfast:dev',
    ...remove,
  ]);
  await rm(scratch, { recursive: true, force: true });
}
