import { LOG_MOVE_ON_AFTER_MS } from '../limits.ts';

export interface ServerUse {
  /** Since the log stored an entry of this process. */
  readonly storedAgoMs: number;
  /** Since a consumer was heard, or a part of a snapshot came. */
  readonly heardAgoMs: number;
  /** What the server said last instead of storing an entry. */
  readonly refusal: string | undefined;
}

/**
 * Why a server is of no use to a process whose entries do not come back; `undefined`: it is. Entries that are stored are
 * only waited for while a consumer lives: then this process reads slowly. A server whose disk has failed may pass entries
 * on to the leader, and give no consumer.
 */
export function uselessBecause({ storedAgoMs, heardAgoMs, refusal }: ServerUse): string | undefined {
  if (storedAgoMs >= LOG_MOVE_ON_AFTER_MS) return refusal ?? 'it stores nothing';
  return heardAgoMs >= LOG_MOVE_ON_AFTER_MS ? 'it gives no consumer' : undefined;
}
