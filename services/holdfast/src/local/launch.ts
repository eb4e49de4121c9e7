import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { closeSync, existsSync, mkdirSync, openSync, readFileSync, renameSync, statSync } from 'node:fs';
import { type Clock, describeError, OperatorError } from '@holdfast/platform';
import type { ClusterHome } from './cluster-home.ts';
import { identityOf, type ProcessIdentity } from './process-identity.ts';

/** The server of a named cluster, in a process of its own. */
export interface Launched {
  readonly child: ChildProcess;
  readonly identity: ProcessIdentity;
  /** Where its lines begin in the log. */
  readonly logOffset: number;
}

export interface LaunchOptions {
  readonly home: ClusterHome;
  readonly flags: readonly string[];
  readonly directory: string;
  readonly env: Readonly<Record<string, string | undefined>>;
  /** It lives on when this process ends. */
  readonly detached: boolean;
}

const LOG_MODE = 0o600;
/** A longer log is put aside before a start; one earlier log is kept. */
const LOG_BYTES_MAX = 8 * 1024 * 1024;

export async function launch({ home, flags, directory, env, detached }: LaunchOptions): Promise<Launched> {
  mkdirSync(home.folder, { recursive: true, mode: 0o700 });
  if ((statSync(home.log, { throwIfNoEntry: false })?.size ?? 0) > LOG_BYTES_MAX) renameSync(home.log, `${home.log}.1`);
  const log = openSync(home.log, 'a', LOG_MODE);
  const logOffset = statSync(home.log).size;
  const own = [...process.execArgv, process.argv[1] ?? '', 'start', '--json=true', `--data-dir=${home.dataDirectory}`];
  const child = spawn(process.execPath, [...own, ...flags], {
    // The directory may be gone: then a file that a flag names in it is reported as missing.
    cwd: existsSync(directory) ? directory : home.folder,
    env,
    detached,
    // Without the channel it would outlive a parent that was killed in the foreground.
    stdio: detached ? ['ignore', log, log] : ['ignore', log, log, 'ipc'],
  });
  closeSync(log);
  const identity = child.pid === undefined ? undefined : identityOf(child.pid);
  await once(child, 'spawn').catch((cause: unknown) => {
    throw notLaunched(home, cause);
  });
  if (identity === undefined) throw notLaunched(home, new Error('its process ended at once'));
  return { child, identity, logOffset };
}

const notLaunched = (home: ClusterHome, cause: unknown): OperatorError =>
  new OperatorError({
    code: 'ClusterNotLaunched',
    message: `the process of the cluster "${home.name}" cannot be started: ${describeError(cause)}`,
    nextStep: `Look whether ${process.execPath} may be run, and whether the machine has memory and processes left.`,
    cause,
  });

/** A line of `start --json`. */
export interface StepLine {
  readonly event: 'step';
  readonly number: number;
  readonly of: number;
  readonly title: string;
  readonly ms: number;
}

export interface ReadyLine {
  readonly event: 'ready';
  readonly url: string;
  readonly warnings: readonly string[];
  /** With what a new cluster began. */
  readonly began?: string;
  readonly startupMs: number;
}

const POLL_MS = 25;
/** Longer than the slowest start with a large store. */
const READY_WITHIN_MS = 300_000;
const LINES_OF_FAILURE = 20;

/** Follows the log until the server is ready. Throws an `OperatorError` with its last lines when it ends before. */
export async function untilReady(
  { child, logOffset }: Launched,
  {
    home,
    clock,
    onStep,
    signal,
  }: {
    readonly home: ClusterHome;
    readonly clock: Clock;
    readonly onStep: (step: StepLine) => void;
    readonly signal?: AbortSignal;
  },
): Promise<ReadyLine> {
  const until = clock.monotonic() + READY_WITHIN_MS;
  for (let told = 0; ; ) {
    // Looked at first: what it wrote before its end is in the text that is read next.
    const hasEnded = child.exitCode !== null || child.signalCode !== null;
    const lines = readFileSync(home.log).subarray(logOffset).toString('utf8').split('\n').slice(0, -1);
    for (const line of lines.slice(told)) {
      const event = eventOf(line);
      if (event?.event === 'ready') return event;
      if (event?.event === 'step') onStep(event);
    }
    told = lines.length;
    // Ctrl-C may end the server, too.
    if (signal?.aborted === true) throw interrupted(home);
    if (hasEnded) throw failed(home, child, lines);
    if (clock.monotonic() > until) throw tooSlow(home);
    await clock.sleep(POLL_MS);
  }
}

function eventOf(line: string): StepLine | ReadyLine | undefined {
  try {
    const value: StepLine | ReadyLine | null = JSON.parse(line);
    return value?.event === 'step' || value?.event === 'ready' ? value : undefined;
  } catch {
    return undefined;
  }
}

/** The server says what is wrong and the next step; its words are repeated. */
function failed(home: ClusterHome, child: ChildProcess, lines: readonly string[]): OperatorError {
  const said = lines.filter((line) => eventOf(line) === undefined).slice(-LINES_OF_FAILURE);
  const [first = `it ended with ${child.exitCode ?? child.signalCode} and said nothing`, ...more] = said;
  return new OperatorError({
    code: 'ClusterNotStarted',
    message: `the cluster "${home.name}" did not start: ${first.replace(/^holdfast: /, '')}`,
    nextStep: more.length === 0 ? 'Try `holdfast doctor`.' : more.join('\n').trim(),
    exitCode: child.exitCode === null || child.exitCode === 0 ? 1 : child.exitCode,
  });
}

const INTERRUPTED = 130;
const interrupted = (home: ClusterHome): OperatorError =>
  new OperatorError({
    code: 'ClusterInterrupted',
    message: `the start of the cluster "${home.name}" was interrupted, and its server was ended`,
    nextStep: 'Repeat the command to start it.',
    exitCode: INTERRUPTED,
  });

const tooSlow = (home: ClusterHome): OperatorError =>
  new OperatorError({
    code: 'ClusterNotReady',
    message: `the cluster "${home.name}" was not ready within ${READY_WITHIN_MS / 60_000} minutes and was ended`,
    nextStep: 'Try `holdfast doctor`; a busy disk or processor is the usual reason.',
  });
