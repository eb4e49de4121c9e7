import type { Clock } from '@holdfast/platform';
import { RuntimeError } from '../port.ts';
import { RECORD_RETRY_MS } from './limits.ts';

/**
 * Writes records even though the disk may be full. New requests are refused then: nothing may run without a record.
 * Past events stay in memory and are written as soon as there is space.
 */
export class RecordKeeper {
  readonly #clock: Clock;
  readonly #unwritten = new Map<string, () => void>();

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  begin(write: () => void): void {
    try {
      write();
    } catch (error) {
      const why = error instanceof Error ? error.message : String(error);
      throw new RuntimeError('Internal', `the records of this node cannot be written, make room on its disk: ${why}`);
    }
  }

  keep(id: string, write: () => void): void {
    const isRetrying = this.#unwritten.size > 0;
    if (this.#try(id, write) || isRetrying) return;
    this.#retryLater();
  }

  /** It was removed: writing would bring it back. */
  forget(id: string): void {
    this.#unwritten.delete(id);
  }

  #try(id: string, write: () => void): boolean {
    try {
      write();
      this.#unwritten.delete(id);
      return true;
    } catch {
      this.#unwritten.set(id, write);
      return false;
    }
  }

  #retryLater(): void {
    this.#clock.timer(RECORD_RETRY_MS, () => {
      for (const [id, write] of this.#unwritten) this.#try(id, write);
      if (this.#unwritten.size > 0) this.#retryLater();
    });
  }
}
