import { type ChildProcess, spawn } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { createInterface } from 'node:readline';
import { createSystemClock } from '@holdfast/platform';
import { NODE_FLAGS } from './node-flags.ts';

const READY_DEADLINE_MS = 60_000;
const STOP_DEADLINE_MS = 60_000;
const clock = createSystemClock();
const MAIN = path.resolve(import.meta.dirname, '../../services/holdfast/src/main.ts');

export interface ReadyRecord {
  readonly url: string;
  readonly kubeconfig: string;
  /** Signs one browser in. */
  readonly console: string;
  readonly warnings: readonly string[];
  readonly startupMs: number;
  readonly rssMb: number;
}

/** An embedded cluster in a process of its own, as `npm start` runs it, on a free port with a data directory of its own. */
export class HoldfastProcess implements AsyncDisposable {
  readonly ready: ReadyRecord;
  readonly dataDir: string;
  readonly #child: ChildProcess;
  readonly #ownsDataDir: boolean;

  private constructor(child: ChildProcess, ready: ReadyRecord, dataDir: string, ownsDataDir: boolean) {
    this.#child = child;
    this.ready = ready;
    this.dataDir = dataDir;
    this.#ownsDataDir = ownsDataDir;
  }

  /** `environment`: NAME=value, beside what this process has. */
  static async start(
    flags: readonly string[] = [],
    keptDataDir?: string,
    environment: readonly string[] = [],
  ): Promise<HoldfastProcess> {
    const dataDir = keptDataDir ?? mkdtempSync(path.join(tmpdir(), 'holdfast-e2e-'));
    const args = [MAIN, 'start', '--json', '--port', '0', '--data-dir', dataDir, ...flags];
    const command = [process.execPath, ...NODE_FLAGS, ...args];
    const child = spawn('env', [...environment, ...command], {
      stdio: ['ignore', 'pipe', 'pipe'],
    });
    const ready = await waitUntilReady(child).catch((error: unknown) => {
      if (keptDataDir === undefined) rmSync(dataDir, { recursive: true, force: true, maxRetries: 10 });
      throw error;
    });
    return new HoldfastProcess(child, ready, dataDir, keptDataDir === undefined);
  }

  get pid(): number {
    return this.#child.pid ?? 0;
  }

  /** As a terminal that is closed: nobody reads what the cluster prints from here on. */
  closeOutput(): void {
    this.#child.stdout?.destroy();
    this.#child.stderr?.destroy();
  }

  /** Sends the signal and answers the exit code. */
  async stop(signal: NodeJS.Signals = 'SIGTERM'): Promise<number | null> {
    if (this.#child.exitCode !== null || this.#child.signalCode !== null) return this.#child.exitCode;
    const exited = new Promise<number | null>((resolve) => this.#child.once('exit', resolve));
    this.#child.kill(signal);
    const timer = clock.timer(STOP_DEADLINE_MS, () => this.#child.kill('SIGKILL'));
    const code = await exited;
    timer.cancel();
    return code;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.stop();
    if (this.#ownsDataDir) rmSync(this.dataDir, { recursive: true, force: true });
  }
}

function waitUntilReady(child: ChildProcess): Promise<ReadyRecord> {
  const errors: string[] = [];
  child.stderr?.on('data', (chunk: Buffer) => errors.push(chunk.toString()));
  return new Promise((resolve, reject) => {
    const fail = (why: string): void => {
      child.kill('SIGKILL');
      reject(new Error(`${why}\n${errors.join('')}`));
    };
    const timer = clock.timer(READY_DEADLINE_MS, () => fail(`not ready within ${READY_DEADLINE_MS} ms`));
    child.once('exit', (code) => fail(`ended with ${code} before it was ready`));
    if (child.stdout === null) return;
    createInterface({ input: child.stdout }).on('line', (line) => {
      const record = JSON.parse(line) as ReadyRecord & { event: string };
      if (record.event !== 'ready') return;
      timer.cancel();
      child.removeAllListeners('exit');
      resolve(record);
    });
  });
}
