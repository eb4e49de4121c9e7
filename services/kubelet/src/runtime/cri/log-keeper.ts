import { renameSync, statSync } from 'node:fs';
import { type Clock, describeError, type Log, type Timer } from '@holdfast/platform';
import type { LogLimits } from '../log-limits.ts';
import { moveAside } from '../log-rotation.ts';
import type { CriConnection } from './connection.ts';
import { QUICK_DEADLINE_MS } from './limits.ts';
import type { CriStore } from './store.ts';

export interface LogKeeperDeps {
  readonly connection: CriConnection;
  readonly store: CriStore;
  readonly clock: Clock;
  readonly log: Log;
  readonly limits: LogLimits;
}

/**
 * Keeps some older files per container: the runtime writes without a limit, and a full disk affects every pod. Nothing
 * is lost between the files.
 */
export class CriLogKeeper {
  readonly #deps: LogKeeperDeps;
  #timer: Timer | undefined;
  #stopped = false;

  constructor(deps: LogKeeperDeps) {
    this.#deps = deps;
  }

  start(): void {
    if (this.#timer === undefined) this.#later();
  }

  stop(): void {
    this.#stopped = true;
    this.#timer?.cancel();
  }

  #later(): void {
    const { clock, limits } = this.#deps;
    if (!this.#stopped) this.#timer = clock.timer(limits.checkMs, () => void this.#check());
  }

  async #check(): Promise<void> {
    const { store, log } = this.#deps;
    try {
      for (const { containers } of await store.list(undefined)) {
        for (const { id, state, logPath } of containers)
          if (state === 'running' && logPath !== undefined) await this.#rotate(id, logPath);
      }
    } catch (error) {
      if (!this.#stopped) log.warn('container logs could not be listed for rotation', { error: describeError(error) });
    }
    this.#later();
  }

  async #rotate(id: string, logPath: string): Promise<void> {
    try {
      await rotateLog(this.#deps, id, logPath);
    } catch (error) {
      if (this.#stopped) return;
      this.#deps.log.warn('a container log could not be rotated', { id, error: describeError(error) });
    }
  }
}

export interface RotateDeps extends Pick<LogKeeperDeps, 'connection'> {
  readonly limits: Pick<LogLimits, 'maxBytes' | 'maxFiles'>;
}

/** The runtime writes to the old file until it has opened the new one. */
export async function rotateLog(
  { connection, limits: { maxBytes, maxFiles } }: RotateDeps,
  containerId: string,
  path: string,
): Promise<void> {
  const size = statSync(path, { throwIfNoEntry: false })?.size ?? 0;
  if (size <= maxBytes) return;
  moveAside(path, maxFiles);
  try {
    await connection.call({ deadlineMs: QUICK_DEADLINE_MS }, ({ runtime }, options) =>
      runtime.reopenContainerLog({ containerId }, options),
    );
  } catch (error) {
    // Readers look for it under its name.
    if (statSync(path, { throwIfNoEntry: false }) === undefined) renameSync(`${path}.1`, path);
    throw error;
  }
}
