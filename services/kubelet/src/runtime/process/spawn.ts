import { type ChildProcess, spawn } from 'node:child_process';
import { chownSync, closeSync, mkdirSync, openSync, statSync } from 'node:fs';
import { dirname } from 'node:path';
import { Readable } from 'node:stream';
import type { ContainerConfig, SandboxConfig } from '../port.ts';
import { ALL_WELL, isolatedCommand, writeIsolationScript } from './isolation.ts';
import { CONTAINER_MARKER } from './process-table.ts';
import { terminalCommand } from './terminal.ts';
import { OWN_DIRECTORY } from './user-namespace.ts';

export interface SpawnRequest {
  readonly containerId: string;
  readonly config: ContainerConfig;
  readonly sandbox: SandboxConfig;
  readonly workPath: string;
  readonly rootPath: string;
  readonly logPath: string;
}

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
    return isIsolated(request) ? await spawnIsolated(request, log) : await spawnPlain(request, log);
  } catch (error) {
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

/** As the container sees it. */
export const ownDirectory = ({ sandbox, workPath }: Pick<SpawnRequest, 'sandbox' | 'workPath'>): string =>
  sandbox.userRange === undefined ? workPath : OWN_DIRECTORY;

function withOwnDirectory({ config, sandbox, workPath }: SpawnRequest): ContainerConfig {
  if (sandbox.userRange === undefined) return config;
  const own = { source: workPath, target: OWN_DIRECTORY, readOnly: false };
  return { ...config, mounts: [own, ...(config.mounts ?? [])] };
}

async function spawnPlain(request: SpawnRequest, log: number): Promise<SpawnOutcome> {
  const { config, workPath } = request;
  const directory = config.workingDir ?? workPath;
  if (!isDirectory(directory)) return { failure: `working directory "${directory}" does not exist on this machine` };
  const plain = [...config.command, ...config.args];
  const { command, environment } = withTerminal(config, plain, containerEnvironment(request));
  const [program = '', ...rest] = command;
  const child = spawn(program, rest, {
    cwd: directory,
    env: environment,
    ...config.user,
    detached: true,
    stdio: [inputOf(config), log, log],
  });
  return child.pid === undefined
    ? { failure: await spawnFailure(child, program) }
    : { child, setUp: Promise.resolve('') };
}

async function spawnIsolated(request: SpawnRequest, log: number): Promise<SpawnOutcome> {
  const { config, workPath, rootPath } = request;
  const script = writeIsolationScript(rootPath, withOwnDirectory(request), request.sandbox);
  const isolated = isolatedCommand(script, { config, directory: config.workingDir ?? ownDirectory(request) });
  const { command, environment } = withTerminal(config, isolated, containerEnvironment(request));
  const [program = '', ...rest] = command;
  const child = spawn(program, rest, {
    cwd: workPath,
    env: environment,
    detached: true,
    stdio: [inputOf(config), log, log, 'pipe'],
  });
  if (child.pid === undefined) return { failure: await spawnFailure(child, program) };
  return { child, setUp: readFailure(child.stdio[3]) };
}

/** The input of a terminal stays open when nobody types: its end would be the end of the command. */
const inputOf = ({ stdin = false, tty = false }: ContainerConfig): 'pipe' | 'ignore' =>
  stdin || tty ? 'pipe' : 'ignore';

function withTerminal(config: ContainerConfig, command: readonly string[], environment: Record<string, string>) {
  return config.tty === true ? terminalCommand(command, environment) : { command, environment };
}

/**
 * What went wrong before the command ran; '' when it runs. The end of what is told is marked, because the pipe itself may stay
 * open: the program that opens a terminal keeps what it was given.
 */
export async function readFailure(pipe: ChildProcess['stdio'][3]): Promise<string> {
  let told = '';
  if (!(pipe instanceof Readable)) return told;
  try {
    for await (const chunk of pipe) {
      told += Buffer.from(chunk).toString('utf8');
      if (told.endsWith(ALL_WELL)) return told.slice(0, -ALL_WELL.length);
    }
  } catch (error) {
    return `${told}the set-up of the container could not be followed: ${error instanceof Error ? error.message : 'unknown'}`;
  }
  return told;
}

/** Nothing of this process' own environment: it may hold credentials of the node. */
export function containerEnvironment(request: Omit<SpawnRequest, 'rootPath' | 'logPath'>): Record<string, string> {
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

export function isDirectory(path: string): boolean {
  return statSync(path, { throwIfNoEntry: false })?.isDirectory() === true;
}
