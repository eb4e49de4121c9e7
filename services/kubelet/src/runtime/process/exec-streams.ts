import { type ChildProcess, spawn } from 'node:child_process';
import { accessSync, constants, statSync } from 'node:fs';
import { constants as system } from 'node:os';
import { delimiter, join } from 'node:path';
import type { Readable, Writable } from 'node:stream';
import type { Clock } from '@holdfast/platform';
import { RuntimeError, type TerminalSize } from '../port.ts';
import { type BesideRequest, besideLaunch } from './exec.ts';
import { EXEC_DRAIN_MS } from './limits.ts';
import { type ProcessEntry, processEntries } from './process-table.ts';
import type { ExecOptions } from './protocol.ts';
import { sendSignal } from './send-signal.ts';
import { containerEnvironment, isIsolated, ownDirectory, readFailure } from './spawn.ts';
import { isDirectory } from './spawn-paths.ts';
import { resizeTerminal } from './terminal.ts';

export interface OpenExec {
  readonly stdin: Writable | null;
  readonly stdout: Readable | null;
  readonly stderr: Readable | null;
  /** Rejects when the command could not be started. Its output may continue for a moment. */
  readonly ended: Promise<{ readonly exitCode: number }>;
  resize(size: TerminalSize): void;
  /** Kills the command and everything that came from it. */
  kill(): void;
}

/** Like the command of a probe, but its streams stay open. */
export function openExec(clock: Clock, request: BesideRequest, options: ExecOptions): OpenExec {
  const { config } = request;
  if (config.command.length === 0) throw new RuntimeError('Unsupported', 'no command specified');
  const child = start(request, options);
  // A command may end without reading what it was given.
  child.stdin?.on('error', () => undefined);
  const failure = readFailure(child.stdio[3]);
  const ended = new Promise<{ exitCode: number }>((resolve, reject) => {
    child.on('error', (error) => reject(startError(config.command, error.message)));
    child.once('exit', (code, signal) => {
      drain(clock, child);
      const exitCode = signal === null ? (code ?? 0) : 128 + system.signals[signal];
      void failure.then((text) => (text === '' ? resolve({ exitCode }) : reject(new RuntimeError('Internal', text))));
    });
  });
  ended.catch(() => undefined);
  return {
    stdin: child.stdin,
    stdout: child.stdout,
    stderr: child.stderr,
    ended,
    resize: (size) => {
      if (options.tty && child.pid !== undefined)
        void resizeTerminal(child.pid, size, (delayMs) => clock.sleep(delayMs));
    },
    kill: () => {
      if (child.pid !== undefined && child.exitCode === null && child.signalCode === null) killTree(child.pid);
    },
  };
}

function start(request: BesideRequest, options: ExecOptions): ChildProcess {
  const { config } = request;
  if (!isIsolated(request)) {
    const directory = config.workingDir ?? ownDirectory(request);
    assertStartable(config.command, directory, containerEnvironment(request)['PATH'] ?? '');
  }
  const launch = besideLaunch(request, true, options.tty);
  const [program = '', ...args] = launch.command;
  return spawn(program, args, {
    cwd: launch.cwd,
    env: launch.environment,
    ...(launch.tellsFailure ? {} : config.user),
    detached: true,
    stdio: [
      // The input of a terminal stays open without a client: closing it would end the command.
      options.stdin || options.tty ? 'pipe' : 'ignore',
      options.stdout ? 'pipe' : 'ignore',
      options.stderr && !options.tty ? 'pipe' : 'ignore',
      launch.tellsFailure ? 'pipe' : 'ignore',
    ],
  });
}

const startError = (command: readonly string[], why: string): RuntimeError =>
  new RuntimeError('Internal', `exec: "${command[0]}": ${why}`);

/** Checked before the start: on a terminal the shell's error would look like the command's own. */
function assertStartable(command: readonly string[], directory: string, path: string): void {
  if (!isDirectory(directory)) {
    throw new RuntimeError('Internal', `working directory "${directory}" does not exist on this machine`);
  }
  const [program = ''] = command;
  const candidates = program.includes('/')
    ? [program.startsWith('/') ? program : join(directory, program)]
    : path.split(delimiter).map((each) => join(each, program));
  if (candidates.some(isExecutable)) return;
  throw startError(
    command,
    program.includes('/') ? describeFile(candidates[0] ?? '') : 'executable file not found in $PATH',
  );
}

function isExecutable(path: string): boolean {
  try {
    accessSync(path, constants.X_OK);
    return statSync(path).isFile();
  } catch {
    return false;
  }
}

const describeFile = (path: string): string =>
  statSync(path, { throwIfNoEntry: false }) === undefined
    ? `stat ${path}: no such file or directory`
    : 'permission denied';

/**
 * Background processes of a command may hold its outputs open for ever. After its end they are closed when nothing more
 * arrives, unless the client is still reading.
 */
function drain(clock: Clock, child: ChildProcess): void {
  const outputs = [child.stdout, child.stderr].filter((each) => each !== null);
  let before = -1;
  const look = (): void => {
    const open = outputs.filter((each) => !each.readableEnded && !each.destroyed);
    if (open.length === 0) return;
    const read = outputs.reduce((sum, each) => sum + bytesRead(each), 0);
    const waiting = open.some((each) => each.readableLength > 0 || each.isPaused());
    if (read === before && !waiting) for (const each of open) each.push(null);
    else clock.timer(EXEC_DRAIN_MS, look);
    before = read;
  };
  clock.timer(EXEC_DRAIN_MS, look);
}

const bytesRead = (stream: Readable): number =>
  'bytesRead' in stream && typeof stream.bytesRead === 'number' ? stream.bytesRead : 0;

/** Everything that descends from it or shares a session with that. Again, for what was started while this looked. */
function killTree(root: number): void {
  const members = new Set([root]);
  for (let pass = 0; pass < KILL_PASSES; pass++) {
    const tree = addTree(members, processEntries());
    for (const { pid } of tree) sendSignal(pid, 'SIGKILL');
  }
}

const KILL_PASSES = 2;

function addTree(members: Set<number>, entries: readonly ProcessEntry[]): readonly ProcessEntry[] {
  for (let size = 0; size !== members.size; ) {
    size = members.size;
    // The number of a session is that of its first process.
    for (const { pid, parent, session } of entries) if (members.has(parent) || members.has(session)) members.add(pid);
  }
  return entries.filter(({ pid }) => members.has(pid));
}
