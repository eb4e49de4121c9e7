import { badOption } from '../options.ts';
import type { Setting } from './settings.ts';

const PID_MAX = 2 ** 31 - 1;

export const PID: Setting = {
  type: 'integer',
  minimum: 2,
  maximum: PID_MAX,
  description: 'The program of the client, a process of the machine of the cluster, which gets a signal at the moment.',
};

/** Sends signals to the program behind a client, for tests that cannot do it themselves at the moment of a fault. */
export class ClientProgram {
  /** Forgotten once the process has ended: the machine may give its number to another one. */
  #pid: number | undefined;

  /** Throws an `OperatorError` for a process that is not there. Without a pid nothing gets a signal. */
  constructor(pid: number | undefined) {
    this.#pid = pid;
    if (pid === undefined) return;
    if (pid === process.pid) throw badOption('the pid is that of the cluster itself', NEXT_STEP);
    if (!this.#send(0)) throw badOption(`there is no process ${pid} that may be signalled`, NEXT_STEP);
  }

  kill(): void {
    this.#send('SIGKILL');
    this.#pid = undefined;
  }

  pause(): void {
    this.#send('SIGSTOP');
  }

  resume(): void {
    this.#send('SIGCONT');
  }

  /** False for a process that has ended meanwhile. */
  #send(signal: NodeJS.Signals | 0): boolean {
    if (this.#pid === undefined) return false;
    try {
      return process.kill(this.#pid, signal);
    } catch {
      this.#pid = undefined;
      return false;
    }
  }
}

const NEXT_STEP = 'Give the pid of the program that runs now; a program that starts anew needs a new lens.';
