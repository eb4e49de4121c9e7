import { renameSync, statSync } from 'node:fs';
import { type Clock, describeError, type Log, type Timer } from '@holdfast/platform';
import type { CriConnection } from './connection.ts';
import { LOG_CHECK_MS, LOG_MAX_BYTES, QUICK_DEADLINE_MS } from './limits.ts';
import type { CriStore } from './store.ts';

export interface LogKeeperDeps {
  readonly connection: CriConnection;
  readonly store: CriStore;
  readonly clock: Clock;
  readonly log: Log;
}

/** Keeps one older file per container: the runtime writes for ever, and a full disk ends everybody. Nothing is lost between them. */
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
    if (!this.#stopped) this.#timer = this.#deps.clock.timer(LOG_CHECK_MS, () => void this.#check());
  }

  async #check(): Promise<void> {
    const { store, log } = this.#deps;
    try {
      for (const { containers } of await store.list(undefined)) {
        for (const { id, state, logPath } of containers)
          if (state === 'running' && logPath !== undefined) await rotateLog(this.#deps, id, logPath);
      }
    } catch (error) {
      if (!this.#stopped) log.warn('logs of containers are not kept short', { error: describeError(error) });
    }
    this.#later();
  }
}

/** The old file goes on being written to until the runtime opened the new one. */
export async function rotateLog(
  { connection }: Pick<LogKeeperDeps, 'connection'>,
  containerId: string,
  path: string,
  maxBytes: number = LOG_MAX_BYTES,
): Promise<void> {
  const size = statSync(path, { throwIfNoEntry: false })?.size ?? 0;
  if (size <= maxBytes) return;
  renameSync(path, `${path}.1`);
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
