import { type ChildProcess, fork } from 'node:child_process';
import { once } from 'node:events';
import path from 'node:path';
import type { AbusedApi } from '../../support/abused-api.ts';
import type { HostileRequest } from '../corpus.ts';
import type { Order, Report } from './attacker-main.ts';

const MAIN = path.resolve(import.meta.dirname, 'attacker-main.ts');

/**
 * Sends hostile requests from a process of its own: making a body of 3 MB, or 300 handshakes, holds the thread of the client as well, and
 * the bystanders of this process would count it as time that they waited for the server.
 */
export class Attacker implements AsyncDisposable {
  readonly #child: ChildProcess;

  private constructor(child: ChildProcess) {
    this.#child = child;
  }

  static async start({ port, ca }: AbusedApi): Promise<Attacker> {
    const execArgv = ['--disable-warning=ExperimentalWarning'];
    const attacker = new Attacker(fork(MAIN, [], { execArgv, stdio: ['ignore', 'inherit', 'inherit', 'ipc'] }));
    await attacker.#ask({ port, ca });
    return attacker;
  }

  /** Makes what `attack` sends. */
  async make({ name }: HostileRequest): Promise<void> {
    await this.#ask({ kind: 'make', name } satisfies Order);
  }

  /** The statuses of the answers. */
  async attack(): Promise<readonly number[]> {
    const report = await this.#ask({ kind: 'send' } satisfies Order);
    return report.kind === 'answered' ? report.statuses : [];
  }

  async #ask(message: object): Promise<Report> {
    const child = this.#child;
    const { promise, resolve, reject } = Promise.withResolvers<Report>();
    const onExit = (code: number | null, signal: string | null): void =>
      reject(new Error(`the attacker ended: ${code ?? signal}`));
    child.once('exit', onExit);
    child.once('message', (report: Report) => {
      child.off('exit', onExit);
      if (report.kind === 'failed') reject(new Error(report.why));
      else resolve(report);
    });
    child.send(message);
    return promise;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    if (this.#child.exitCode !== null || this.#child.signalCode !== null) return;
    const ended = once(this.#child, 'exit');
    this.#child.kill('SIGKILL');
    await ended;
  }
}
