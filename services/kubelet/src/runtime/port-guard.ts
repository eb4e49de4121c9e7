import type { FencingPolicy } from './fencing-deadline.ts';

/**
 * Ends what runs exclusively on this machine when a deadline passes, whatever becomes of the kubelet. All times are milliseconds of a clock
 * that runs through suspend and is the same for every process of the machine.
 */
export interface ExclusiveGuard {
  now(): number;
  /** Undefined: nothing is promised. One of an earlier boot is past. */
  deadline(): number | undefined;
  /** The pods that the deadline ends. `undefined`: there is no promise. */
  policy(): FencingPolicy | undefined;
  /** Resolves when a running guard will end the covered pods; rejects when there is none. */
  ready(): Promise<void>;
  /** Sets the deadline, earlier or later. A past deadline ends everything that it covers immediately. */
  extend(untilMs: number, policy: FencingPolicy): void;
  /** Revokes the promise. */
  withdraw(): void;
}
