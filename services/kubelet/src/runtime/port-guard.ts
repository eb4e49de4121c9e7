import type { FencingPolicy } from './fencing-deadline.ts';

/**
 * Ends what runs exclusively on this machine when a deadline passes, whatever becomes of the kubelet. All times are milliseconds of a clock
 * that runs through suspend and is the same for every process of the machine.
 */
export interface ExclusiveGuard {
  now(): number;
  /** Undefined: nothing is promised. One of an earlier boot is past. */
  deadline(): number | undefined;
  /** What the deadline ends. Undefined: nothing is promised. */
  policy(): FencingPolicy | undefined;
  /** Resolves when a guard runs that will end what has to be ended; rejects when there is none. */
  ready(): Promise<void>;
  /** From now on the deadline is this, earlier or later. Past = everything that it covers is ended at once. */
  extend(untilMs: number, policy: FencingPolicy): void;
  /** Nothing is promised any more. */
  withdraw(): void;
}
