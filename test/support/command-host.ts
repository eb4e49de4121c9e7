import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import path from 'node:path';
import type { Ran } from './holdfast-command.ts';
import { NODE_FLAGS } from './node-flags.ts';

const PROGRAM = path.resolve(import.meta.dirname, 'command-host-main.ts');

/** Runs commands of `holdfast` one after the other in one process, which loads their modules once. */
export class CommandHost {
  readonly #child: ChildProcess;

  /** `environment`: NAME=value, beside what this process has. */
  constructor(environment: readonly string[]) {
    this.#child = spawn('env', [...environment, process.execPath, ...NODE_FLAGS, PROGRAM], {
      stdio: ['ignore', 'inherit', 'inherit', 'ipc'],
    });
  }

  async run(...args: readonly string[]): Promise<Ran> {
    const answered = once(this.#child, 'message');
    this.#child.send(args);
    const [ran] = await answered;
    return ran as Ran;
  }

  async stop(): Promise<void> {
    if (this.#child.exitCode !== null) return;
    const ended = once(this.#child, 'exit');
    this.#child.disconnect();
    await ended;
  }
}
