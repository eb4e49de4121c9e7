import { TimeWeighted } from './time-weighted.ts';

const SEAT_BUCKETS = [0, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 0.95, 0.99, 1];
const REQUEST_BUCKETS = [0, 0.001, 0.003, 0.01, 0.03, 0.1, 0.25, 0.5, 0.75, 1];
const DEMAND_BUCKETS = [0, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 1, 1.2, 1.4, 1.7, 2, 2.8, 4, 6];

export interface LevelState {
  readonly queues: {
    readonly seatsInUse: number;
    readonly executing: number;
    readonly waiting: number;
    readonly demand: number;
  };
  /** That it may use now. */
  readonly seats: number;
  readonly nominal: number;
  /** Requests that may wait. */
  readonly places: number;
}

/** How much of a priority level was used, over all time. */
export class LevelUse {
  readonly seats: TimeWeighted;
  readonly executing: TimeWeighted;
  readonly waiting: TimeWeighted;
  readonly demand: TimeWeighted;

  constructor(now: number) {
    this.seats = new TimeWeighted(SEAT_BUCKETS, now);
    this.executing = new TimeWeighted(REQUEST_BUCKETS, now);
    this.waiting = new TimeWeighted(REQUEST_BUCKETS, now);
    this.demand = new TimeWeighted(DEMAND_BUCKETS, now);
  }

  observe({ queues, seats, nominal, places }: LevelState, now: number): void {
    this.seats.set(queues.seatsInUse / Math.max(1, seats), now);
    this.executing.set(queues.executing / Math.max(1, seats), now);
    this.waiting.set(queues.waiting / Math.max(1, places), now);
    this.demand.set(queues.demand / Math.max(1, nominal), now);
  }
}
