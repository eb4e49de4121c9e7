import { connect, type Socket } from 'node:net';
import type { Clock } from '@holdfast/platform';
import { WATCHDOG_ANSWER_MS } from './limits.ts';

/** The kubelet's connection to its watchdog. Callers at one time share one question, so that none takes the answer of another. */
export class WatchdogLine {
  readonly #address: string;
  readonly #clock: Clock;
  #socket: Socket | undefined;
  #asked: Promise<boolean> | undefined;

  constructor(address: string, clock: Clock) {
    this.#address = address;
    this.#clock = clock;
  }

  /** Checks that the watchdog responds in time. */
  answers(): Promise<boolean> {
    this.#asked ??= this.#ask().finally(() => {
      this.#asked = undefined;
    });
    return this.#asked;
  }

  close(): void {
    this.#socket?.destroy();
    this.#socket = undefined;
  }

  async #ask(): Promise<boolean> {
    this.#socket ??= await tryConnect(this.#address);
    if (this.#socket === undefined) return false;
    if (await echo(this.#socket, this.#clock)) return true;
    this.close();
    return false;
  }
}

/** Resolves with `undefined` when nothing listens there. */
function tryConnect(address: string): Promise<Socket | undefined> {
  return new Promise((resolve) => {
    const socket = connect(address);
    // 'close' follows, and the next check finds no listener.
    socket.on('error', () => resolve(undefined));
    socket.once('connect', () => resolve(socket));
  });
}

/** A stopped process accepts connections but never responds. */
function echo(socket: Socket, clock: Clock): Promise<boolean> {
  return new Promise((resolve) => {
    const settle = (answer: boolean) => (): void => {
      deadline.cancel();
      socket.removeAllListeners('data');
      socket.removeAllListeners('close');
      resolve(answer);
    };
    const deadline = clock.timer(WATCHDOG_ANSWER_MS, settle(false));
    socket.once('data', settle(true));
    socket.once('close', settle(false));
    socket.write('?');
  });
}
