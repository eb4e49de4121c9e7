import type { PriorityLevelConfiguration } from '@holdfast/api';
import { QUEUES_PER_LEVEL_MAX } from '../limits.ts';
import type { FlowRequest } from './flow-request.ts';
import { type LevelLimits, seatsMaxOf } from './level-limits.ts';
import { LevelUse } from './level-use.ts';
import { type Handling, QueueSet } from './queue-set.ts';
import { RetryAfter } from './retry-after.ts';
import type { SeatClaim } from './seat-allocation.ts';
import { type DemandReading, SeatDemand, smoothedDemand } from './seat-demand.ts';

const NO_LIMITS: LevelLimits = { nominal: 0, lower: 0, upper: 0 };
const NO_DEMAND: DemandReading = { average: 0, deviation: 0, highWatermark: 0 };

/** One priority level on this server: its seats, queues and counters. */
export class PriorityLevel {
  readonly name: string;
  readonly #demand: SeatDemand;
  readonly use: LevelUse;
  readonly retryAfter: RetryAfter;
  readonly queues: QueueSet<FlowRequest>;
  readonly counts = { dispatched: 0, rejected: 0, timedOut: 0, cancelled: 0 };
  #configuration: PriorityLevelConfiguration;
  limits = NO_LIMITS;
  /** Seats that it may use now. */
  current = 0;
  target = 0;
  reading = NO_DEMAND;
  smoothed = 0;
  /** Its object is gone; it ends with its last request. */
  isQuiescing = false;

  constructor(configuration: PriorityLevelConfiguration, now: number) {
    this.name = configuration.metadata.name ?? '';
    this.#configuration = configuration;
    this.#demand = new SeatDemand(now);
    this.use = new LevelUse(now);
    this.retryAfter = new RetryAfter(now);
    this.queues = new QueueSet(handlingOf(configuration), 0);
  }

  get configuration(): PriorityLevelConfiguration {
    return this.#configuration;
  }

  get isExempt(): boolean {
    return this.#configuration.spec.type === 'Exempt';
  }

  get queueCount(): number {
    const { queues = 0 } = this.#configuration.spec.limited?.limitResponse?.queuing ?? {};
    return Math.min(queues, QUEUES_PER_LEVEL_MAX);
  }

  get handSize(): number {
    const { handSize = 0 } = this.#configuration.spec.limited?.limitResponse?.queuing ?? {};
    return Math.min(handSize, this.queueCount);
  }

  /** Seats of its widest request. */
  get seatsMax(): number {
    return seatsMaxOf(this.limits.nominal, this.handSize);
  }

  configure(configuration: PriorityLevelConfiguration, limits: LevelLimits, now: number): void {
    const isNew = this.limits === NO_LIMITS;
    this.#configuration = configuration;
    this.limits = limits;
    if (isNew) this.current = limits.nominal - Math.floor((limits.nominal - limits.lower) / 2);
    this.queues.change(handlingOf(configuration), this.current, now);
  }

  /** Returns its claim by the use since the last call. */
  claim(now: number, periods: number): SeatClaim {
    const { lower, nominal, upper } = this.limits;
    this.reading = this.#demand.read(now);
    this.smoothed = smoothedDemand(this.smoothed, this.reading, periods);
    const least = Math.max(lower, Math.min(nominal, this.reading.highWatermark));
    this.target = Math.max(least, this.smoothed);
    return { lower: least, upper, target: this.target };
  }

  grant(seats: number, now: number): void {
    this.current = Math.round(seats);
    this.queues.setLimit(this.current, now);
    this.observe(now);
  }

  /** Called after every change of its queues. */
  observe(now: number): void {
    const { queues, current, limits } = this;
    this.#demand.set(queues.demand, now);
    this.use.observe({ queues, seats: current, nominal: limits.nominal, places: this.#places() }, now);
  }

  /** Requests that may wait. */
  #places(): number {
    const { queueLengthLimit = 0 } = this.#configuration.spec.limited?.limitResponse?.queuing ?? {};
    return this.queueCount * queueLengthLimit;
  }
}

function handlingOf({ spec }: PriorityLevelConfiguration): Handling {
  if (spec.type === 'Exempt') return { kind: 'exempt' };
  const queuing = spec.limited?.limitResponse?.queuing;
  return queuing === undefined
    ? { kind: 'reject' }
    : { kind: 'queue', queueLengthLimit: queuing.queueLengthLimit ?? 0 };
}
