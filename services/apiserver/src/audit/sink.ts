import type { Clock } from '@holdfast/platform';
import { AUDIT_STOP_MS } from '../limits.ts';

/** A destination of audit events. */
export interface AuditSink {
  /** Its name in metrics. */
  readonly name: 'log' | 'webhook';
  /**
   * Takes one event as one line of JSON. Returns nothing when no caller must wait; otherwise whether the event was
   * kept. A request that requires its event is refused when it was not.
   */
  readonly take: (event: string) => Promise<boolean> | boolean | undefined;
  /** Events that were lost so far. */
  readonly lost: () => number;
  readonly start: () => Promise<void>;
  /** Resolves when what was taken has been written, or given up and counted: at the latest after AUDIT_STOP_MS. */
  readonly stop: () => Promise<void>;
}

/**
 * `blocking`: a response waits for its event; `blocking-strict`: a request without its first event is refused; `batch`:
 * no response waits.
 */
export const AUDIT_MODES = ['batch', 'blocking', 'blocking-strict'] as const;
export type AuditMode = (typeof AUDIT_MODES)[number];

/** Resolves with whether the work of a stopping sink ended in time. */
export function endsInTime(clock: Clock, work: Promise<void>): Promise<boolean> {
  const { promise, resolve } = Promise.withResolvers<boolean>();
  const deadline = clock.timer(AUDIT_STOP_MS, () => resolve(false));
  void work.then(() => resolve(true));
  return promise.finally(() => deadline.cancel());
}
