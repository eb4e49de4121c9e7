import type { Clock } from '@holdfast/platform';
import { AUDIT_STOP_MS } from '../limits.ts';

/** Where audit events go. */
export interface AuditSink {
  /** As metrics name it. */
  readonly name: 'log' | 'webhook';
  /**
   * Takes one event as one line of JSON. Nothing is returned when nobody has to wait; else whether the event was kept. A request that must
   * not pass without its event is refused when it was not.
   */
  readonly take: (event: string) => Promise<boolean> | boolean | undefined;
  /** Events that were lost so far. */
  readonly lost: () => number;
  readonly start: () => Promise<void>;
  /** Resolves when what was taken has been written, or given up and counted: at the latest after AUDIT_STOP_MS. */
  readonly stop: () => Promise<void>;
}

/** `blocking`: an answer waits for its event; `blocking-strict`: a request without its first event is refused; `batch`: nobody waits. */
export const AUDIT_MODES = ['batch', 'blocking', 'blocking-strict'] as const;
export type AuditMode = (typeof AUDIT_MODES)[number];

/** Whether the work of a sink that stops ended in time. */
export function endsInTime(clock: Clock, work: Promise<void>): Promise<boolean> {
  const { promise, resolve } = Promise.withResolvers<boolean>();
  const deadline = clock.timer(AUDIT_STOP_MS, () => resolve(false));
  void work.then(() => resolve(true));
  return promise.finally(() => deadline.cancel());
}
