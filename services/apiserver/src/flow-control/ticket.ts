/** A request at one priority level. */
export interface Ticket {
  /** Queues that it may wait in. */
  readonly hand: readonly number[];
  readonly seats: number;
  /** Seat-milliseconds that it costs after it was answered: its change goes to watchers. */
  readonly extraWork: number;
  /** The queue it was put into. */
  queue: number | undefined;
  beganAt: number;
  /** The estimated duration at its start. */
  expectedMs: number;
  /** Called when a request that waited may begin. */
  readonly begin: (now: number) => void;
  /** Called when it had its turn and did not fit. */
  readonly misfit: () => void;
}
