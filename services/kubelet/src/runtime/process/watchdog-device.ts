import { closeSync, constants, openSync, readFileSync, renameSync, rmSync, writeFileSync, writeSync } from 'node:fs';
import { join } from 'node:path';
import { type FencingDeadline, isPast } from '../fencing-deadline.ts';

const fileIn = (stateDirectory: string): string => join(stateDirectory, 'watchdog-device');

/** In a file: the watchdog that reads it may be older than the kubelet that writes it, and outlives it. */
export function writeDevicePath(stateDirectory: string, device: string | undefined): void {
  const target = fileIn(stateDirectory);
  if (device === undefined) return rmSync(target, { force: true });
  writeFileSync(`${target}.new`, device, { mode: 0o600 });
  renameSync(`${target}.new`, target);
}

export function readDevicePath(stateDirectory: string): string | undefined {
  try {
    return readFileSync(fileIn(stateDirectory), 'utf8');
  } catch {
    return undefined;
  }
}

/** What the watchdog has found in one look at the node. */
export interface Look {
  readonly deadline: FencingDeadline | undefined;
  readonly nowMs: number;
  /** Covered processes that were alive although the deadline has passed; undefined: the look failed. */
  readonly alive: number | undefined;
}

const KEEP_ALIVE = '.';
/** Written before the device is closed, it tells the driver to stop. Without it the machine is reset. */
const MAGIC_CLOSE = 'V';

/**
 * The watchdog device of the machine (`/dev/watchdog`), which resets the machine when nobody writes for its time-out.
 * It is written once for each renewal of the promise, and at every look while nothing is promised or everything that
 * the promise covers is dead. So a machine that cannot keep its promise is reset.
 */
export class WatchdogDevice {
  readonly #path: () => string | undefined;
  readonly #tell: (message: string) => void;
  #open: { readonly path: string; readonly descriptor: number } | undefined;
  #failure = '';
  /** The deadline that the last write was for. */
  #writtenForMs: number | undefined;

  constructor(path: () => string | undefined, tell: (message: string) => void) {
    this.#path = path;
    this.#tell = tell;
  }

  look(look: Look): void {
    const path = this.#path();
    if (path !== this.#open?.path) this.disarm();
    if (path === undefined) return;
    this.#attempt(path, () => {
      this.#open ??= { path, descriptor: openSync(path, constants.O_WRONLY) };
      if (this.#isKept(look)) writeSync(this.#open.descriptor, KEEP_ALIVE);
      this.#failure = '';
    });
  }

  /** The orderly end: the machine keeps running. */
  disarm(): void {
    const open = this.#open;
    this.#open = undefined;
    this.#writtenForMs = undefined;
    if (open === undefined) return;
    this.#attempt(open.path, () => void writeSync(open.descriptor, MAGIC_CLOSE));
    this.#attempt(open.path, () => closeSync(open.descriptor));
  }

  /** A device that fails does not stop the watchdog, which keeps the promise without it. */
  #attempt(path: string, use: () => void): void {
    try {
      use();
    } catch (error) {
      const failure = `the device ${path} cannot be used: ${error instanceof Error ? error.message : 'unknown'}`;
      if (failure !== this.#failure) this.#tell(failure);
      this.#failure = failure;
    }
  }

  #isKept({ deadline, nowMs, alive }: Look): boolean {
    if (deadline === undefined) return true;
    if (isPast(deadline, nowMs)) return alive === 0;
    const isRenewed = this.#writtenForMs === undefined || deadline.untilMs > this.#writtenForMs;
    if (isRenewed) this.#writtenForMs = deadline.untilMs;
    return isRenewed;
  }
}
