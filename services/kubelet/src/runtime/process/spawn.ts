import { type ChildProcess, spawn } from 'node:child_process';
import { chownSync, closeSync, mkdirSync, openSync } from 'node:fs';
import { dirname } from 'node:path';
import { Readable } from 'node:stream';
import { HELPER_ENVIRONMENT, hasHelper } from '../helpers.ts';
import { type ContainerConfig, RuntimeError, type SandboxConfig } from '../port.ts';
import { ALL_WELL, becomeInPlace, isRoot, START_TOLD, START_UNTOLD } from './become.ts';
import { carryEnvironment } from './carried-environment.ts';
import { isolatedCommand } from './isolation.ts';
import { FAILURE_MAX_LENGTH } from './limits.ts';
import type { NodeIsolation } from './node-isolation.ts';
import { CONTAINER_MARKER } from './process-table.ts';
import { enterNetwork, type SandboxNetwork } from './sandbox-network.ts';
import { terminalCommand } from './terminal.ts';
import { OWN_DIRECTORY } from './user-namespace.ts';
import type { ViewWork } from './view-workers.ts';

export interface SpawnRequest {
  readonly containerId: string;
  readonly config: ContainerConfig;
  readonly sandbox: SandboxConfig;
  /** Absent: the machine's. */
  readonly network?: SandboxNetwork | undefined;
  readonly workPath: string;
  readonly rootPath: string;
  readonly logPath: string;
  readonly node: () => NodeIsolation;
  readonly views: ViewWork;
  /** Called right before the process begins, because looks at slow volumes take seconds. Throws when the deadline has passed. */
  readonly assertMayStart: () => void;
}

/** What both a container and a program beside it need. */
export type SpawnContents = Omit<SpawnRequest, 'rootPath' | 'logPath' | 'node' | 'views' | 'assertMayStart'>;

export type SpawnOutcome =
  /** `setUp`: '' as soon as the command itself runs, else why it never will. */
  { readonly child: ChildProcess; readonly setUp: Promise<string> } | { readonly failure: string };

/**
 * Starts the command as leader of its own session. Output goes straight into the file: no pipe breaks and no process
 * blocks when the supervisor ends.
 */
export async function spawnContainer(request: SpawnRequest): Promise<SpawnOutcome> {
  const { config, workPath } = request;
  if (config.command.length === 0) return { failure: 'no command specified' };
  mkdirSync(workPath, { recursive: true, mode: 0o700 });
  giveDirectory(request);
  const log = openSync(request.logPath, 'a', 0o600);
  try {
    const { workingDir } = config;
    if (isIsolated(request)) return await spawnLaunch(request, await isolatedLaunch(request), log);
    if (workingDir !== undefined && !(await request.views.isDirectory(workingDir)))
      return { failure: `working directory "${workingDir}" does not exist on this machine` };
    const plain = plainLaunch(request, [...config.command, ...config.args], config.tty === true);
    return await spawnLaunch(request, plain, log);
  } catch (error) {
    if (error instanceof RuntimeError) throw error;
    return { failure: `exec: "${config.command[0]}": ${error instanceof Error ? error.message : String(error)}` };
  } finally {
    closeSync(log);
  }
}

function giveDirectory({ config: { user }, sandbox: { userRange }, workPath }: SpawnRequest): void {
  const first = userRange?.firstId ?? 0;
  if (user !== undefined || userRange !== undefined)
    chownSync(workPath, first + (user?.uid ?? 0), first + (user?.gid ?? 0));
}

/** Its own view of the machine's files. */
export const isIsolated = ({ config, sandbox }: Pick<SpawnRequest, 'config' | 'sandbox'>): boolean =>
  (config.mounts ?? []).length > 0 || sandbox.userRange !== undefined;

/** The path inside the container. */
export const ownDirectory = (request: Pick<SpawnRequest, 'config' | 'sandbox' | 'workPath'>): string =>
  isIsolated(request) ? OWN_DIRECTORY : request.workPath;

function withOwnDirectory({ config, workPath }: SpawnRequest): ContainerConfig {
  const own = { source: workPath, target: OWN_DIRECTORY, readOnly: false };
  return { ...config, mounts: [own, ...(config.mounts ?? [])] };
}

/** A program of the machine with all that it needs; the container's own things are in its arguments and in carried variables. */
export interface Launch {
  readonly command: readonly string[];
  readonly environment: Readonly<Record<string, string>>;
  /** File descriptor 3 reports why the command could not be started. */
  readonly tellsFailure: boolean;
  readonly cwd: string;
}

/** `command` of `/bin/sh -c START... holdfast <directory> <command>...`, run by `helpers` that become the container's user. */
export function carriedLaunch(
  request: SpawnContents,
  { command, cwd, tty }: { readonly command: readonly string[]; readonly cwd: string; readonly tty: boolean },
): Launch {
  const own = containerEnvironment(request);
  const carried = carryEnvironment(tty ? { TERM: 'xterm', ...own } : own);
  const environment = { ...HELPER_ENVIRONMENT, [CONTAINER_MARKER]: request.containerId, ...carried };
  const line = tty ? terminalCommand(command) : command;
  return {
    command: line,
    environment: tty ? { ...environment, SHELL: '/bin/sh' } : environment,
    tellsFailure: true,
    cwd,
  };
}

/** In the machine's own view. Without another user, network or terminal no helper is needed. */
export function plainLaunch(
  request: SpawnContents,
  words: readonly string[],
  tty: boolean,
  tellFailure = true,
): Launch {
  const { config, workPath } = request;
  const directory = config.workingDir ?? workPath;
  const becomes = isRoot() && config.user !== undefined && hasHelper('setpriv') ? becomeInPlace(config.user) : [];
  const enter = enterNetwork(request.network);
  if (becomes.length === 0 && enter.length === 0 && !tty)
    return { command: words, environment: containerEnvironment(request), tellsFailure: false, cwd: directory };
  // Only root can reach it by its path when the node's directory is closed.
  const [cwd, from] = config.workingDir === undefined ? [workPath, '.'] : ['/', directory];
  const start = tellFailure ? START_TOLD : START_UNTOLD;
  const command = [...enter, ...becomes, '/bin/sh', '-c', start, 'holdfast', from, ...words];
  return carriedLaunch(request, { command, cwd, tty });
}

async function isolatedLaunch(request: SpawnRequest): Promise<Launch> {
  const { config, workPath, rootPath, sandbox, node, views } = request;
  const script = await views.writeScript(rootPath, { config: withOwnDirectory(request), sandbox, node: node() });
  const isolated = isolatedCommand(script, { config, directory: config.workingDir ?? OWN_DIRECTORY });
  const command = [...enterNetwork(request.network), ...isolated];
  return carriedLaunch(request, { command, cwd: workPath, tty: config.tty === true });
}

async function spawnLaunch(
  { config, assertMayStart }: SpawnRequest,
  launch: Launch,
  log: number,
): Promise<SpawnOutcome> {
  const [program = '', ...rest] = launch.command;
  assertMayStart();
  const child = spawn(program, rest, {
    cwd: launch.cwd,
    env: launch.environment,
    ...(launch.tellsFailure ? {} : config.user),
    detached: true,
    stdio: [inputOf(config), log, log, ...(launch.tellsFailure ? (['pipe'] as const) : [])],
  });
  if (child.pid === undefined) return { failure: await spawnFailure(child, program) };
  return { child, setUp: launch.tellsFailure ? readFailure(child.stdio[3]) : Promise.resolve('') };
}

/** The input of a terminal stays open without a client: closing it would end the command. */
const inputOf = ({ stdin = false, tty = false }: ContainerConfig): 'pipe' | 'ignore' =>
  stdin || tty ? 'pipe' : 'ignore';

/**
 * Reads the error from before the command ran; '' when it runs. The end of the message is marked, because the pipe
 * itself may stay open: the program that opens a terminal inherits it.
 */
export async function readFailure(pipe: ChildProcess['stdio'][3]): Promise<string> {
  let told = '';
  if (!(pipe instanceof Readable)) return told;
  try {
    for await (const chunk of pipe) {
      told += Buffer.from(chunk).toString('utf8');
      if (told.endsWith(ALL_WELL)) return told.slice(0, -ALL_WELL.length);
      // The last ones to write there run as the container's user.
      if (told.length > FAILURE_MAX_LENGTH) return told.slice(0, FAILURE_MAX_LENGTH);
    }
  } catch (error) {
    return `${told}the set-up of the container could not be followed: ${error instanceof Error ? error.message : 'unknown'}`;
  }
  return told;
}

/** Without this process's own environment: it may contain credentials of the node. */
export function containerEnvironment(request: SpawnContents): Record<string, string> {
  return {
    PATH: `/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin:${dirname(process.execPath)}`,
    HOME: ownDirectory(request),
    HOSTNAME: request.sandbox.hostname,
    ...request.config.env,
    [CONTAINER_MARKER]: request.containerId,
  };
}

function spawnFailure(child: ChildProcess, program: string): Promise<string> {
  return new Promise((resolve) => {
    child.on('error', (error: NodeJS.ErrnoException) => {
      if (error.code === 'ENOENT') {
        const where = program.includes('/') ? 'no such file or directory' : 'executable file not found in $PATH';
        resolve(`exec: "${program}": ${where}`);
      } else if (error.code === 'EACCES') resolve(`exec: "${program}": permission denied`);
      else resolve(`exec: "${program}": ${error.message}`);
    });
  });
}
