import { type ChildProcess, spawn } from 'node:child_process';
import { type Clock, describeError, OperatorError } from '@holdfast/platform';

export interface ProgramOptions {
  /** The command and its arguments. */
  readonly command: readonly string[];
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly clock: Clock;
  /** Kills it at once, and it is not started again. */
  readonly signal: AbortSignal | undefined;
  readonly onStart: () => void;
}

const OUTPUT_CHARS_MAX = 100_000;
const RESTARTS_MAX = 5;
const RESTART_MS = 200;

/** The operator: a process group that is killed, and started again as a Deployment would. */
export class Program {
  readonly #options: ProgramOptions;
  #child: ChildProcess | undefined;
  #exited: Promise<void> = Promise.resolve();
  #isEnding = false;
  /** Exits that nobody asked for. */
  crashes = 0;
  lastExit = '';
  output = '';
  failure: OperatorError | undefined;

  constructor(options: ProgramOptions) {
    this.#options = options;
    // In the turn of the signal: a second Ctrl-C may end this process before anything else.
    options.signal?.addEventListener('abort', this.#onAbort, { once: true });
  }

  start(): void {
    if (this.#isEnding) return;
    const [file = '', ...args] = this.#options.command;
    this.#options.onStart();
    const child = spawn(file, args, { env: this.#options.env, stdio: ['ignore', 'pipe', 'pipe'], detached: true });
    const { promise, resolve } = Promise.withResolvers<void>();
    this.#child = child;
    this.#exited = promise;
    for (const stream of [child.stdout, child.stderr]) {
      stream.setEncoding('utf8').on('data', (text: string) => {
        if (this.output.length < OUTPUT_CHARS_MAX) this.output += text;
      });
    }
    child.on('error', (cause) => {
      this.failure = notStarted(file, cause);
      resolve();
    });
    child.on('exit', (code, signal) => {
      resolve();
      if (this.#child !== child || this.#isEnding) return;
      this.lastExit = code === null ? `signal ${signal}` : `code ${code}`;
      this.crashes += 1;
      if (this.crashes <= RESTARTS_MAX) this.#options.clock.timer(RESTART_MS * this.crashes, () => this.#again(child));
    });
  }

  /** Ends all its processes at once, without a chance to clean up. */
  async kill(): Promise<void> {
    const child = this.#child;
    this.#child = undefined;
    if (child?.pid === undefined) return;
    try {
      process.kill(-child.pid, 'SIGKILL');
    } catch {
      // It ended by itself.
    }
    await this.#exited;
  }

  async end(): Promise<void> {
    this.#isEnding = true;
    this.#options.signal?.removeEventListener('abort', this.#onAbort);
    await this.kill();
  }

  readonly #onAbort = (): void => void this.end();

  #again(child: ChildProcess): void {
    if (this.#child === child && !this.#isEnding) this.start();
  }
}

const notStarted = (program: string, cause: Error): OperatorError =>
  new OperatorError({
    code: 'CommandNotStarted',
    message: `the command ${program} cannot be started: ${describeError(cause)}`,
    nextStep: 'Check its name and the PATH.',
    exitCode: 127,
    cause,
  });
