import type { Clock } from '@holdfast/platform';
import { DRIVER_REFUSED_RETRY_MAX_MS, DRIVER_RETRY_MAX_MS, DRIVER_RETRY_MS } from '../limits.ts';
import { DriverError } from './port.ts';

/**
 * When a driver may be asked again about an object. The report of a failure is itself a change of the object, which wakes
 * its key: without this memory the driver would be asked again at once.
 */
export class DriverRetries {
  readonly #clock: Pick<Clock, 'monotonic'>;
  readonly #failed = new Map<string, { readonly waitMs: number; readonly until: number; readonly about: string }>();

  constructor(clock: Pick<Clock, 'monotonic'>) {
    this.#clock = clock;
  }

  /** How long to wait before the next try. `about`: what is asked; another question need not wait. */
  waitMs(key: string, about: string): number {
    const failed = this.#failed.get(key);
    if (failed === undefined || failed.about !== about) return 0;
    return Math.max(0, failed.until - this.#clock.monotonic());
  }

  /** Returns the wait before the next try. */
  failed(key: string, about: string, error: unknown): number {
    const before = this.#failed.get(key);
    const doubled = before?.about === about ? before.waitMs * 2 : DRIVER_RETRY_MS;
    const isRefusal = error instanceof DriverError && error.isRefusal;
    const waitMs = Math.min(doubled, isRefusal ? DRIVER_REFUSED_RETRY_MAX_MS : DRIVER_RETRY_MAX_MS);
    this.#failed.set(key, { waitMs, until: this.#clock.monotonic() + waitMs, about });
    return waitMs;
  }

  forget(key: string): void {
    this.#failed.delete(key);
  }
}
