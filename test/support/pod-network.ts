import { type ChildProcess, execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { readdirSync, readFileSync } from 'node:fs';

/** Runs programs of this machine in the network of a pod with containers. */
export class PodNetwork implements AsyncDisposable {
  readonly #words: readonly string[];
  readonly #servers: ChildProcess[] = [];

  private constructor(pid: string) {
    this.#words = ['nsenter', `--net=/proc/${pid}/ns/net`, '--'];
  }

  /** Finds a pod by a process of it that sleeps for so long: pods of other clusters have the same names. */
  static ofSleeper(seconds: number): PodNetwork {
    const found = readdirSync('/proc').find((name) => /^\d+$/.test(name) && isSleeping(name, seconds));
    if (found === undefined) throw new Error(`no process sleeps for ${seconds} s`);
    return new PodNetwork(found);
  }

  run(...command: readonly string[]): string {
    const [program = '', ...args] = [...this.#words, ...command];
    return execFileSync(program, args, { encoding: 'utf8', timeout: 30_000 }).trim();
  }

  /** Runs until this is disposed. */
  serve(...command: readonly string[]): void {
    const [program = '', ...args] = [...this.#words, ...command];
    this.#servers.push(spawn(program, args, { stdio: ['ignore', 'inherit', 'inherit'] }));
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await Promise.all(
      this.#servers.map(async (server) => {
        const closed = once(server, 'close');
        server.kill('SIGKILL');
        await closed;
      }),
    );
  }
}

function isSleeping(pid: string, seconds: number): boolean {
  try {
    return readFileSync(`/proc/${pid}/cmdline`, 'utf8').startsWith(`sleep\0${seconds}\0`);
  } catch {
    return false;
  }
}
