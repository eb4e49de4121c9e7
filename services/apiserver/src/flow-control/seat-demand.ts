/** Seats that a level wanted since the last reading, weighted by the time. */
export class SeatDemand {
  #value = 0;
  #since: number;
  #from: number;
  #sum = 0;
  #squares = 0;
  #max = 0;

  constructor(now: number) {
    this.#since = now;
    this.#from = now;
  }

  set(value: number, now: number): void {
    if (value === this.#value) return;
    this.#add(now);
    this.#value = value;
    if (value > this.#max) this.#max = value;
  }

  /** The demand since the last reading; starts the next period. */
  read(now: number): DemandReading {
    this.#add(now);
    const duration = now - this.#from;
    const average = duration > 0 ? this.#sum / duration : this.#value;
    const variance = duration > 0 ? this.#squares / duration - average * average : 0;
    const reading = { average, deviation: Math.sqrt(Math.max(0, variance)), highWatermark: this.#max };
    this.#from = now;
    this.#sum = 0;
    this.#squares = 0;
    this.#max = this.#value;
    return reading;
  }

  #add(now: number): void {
    const duration = now - this.#since;
    this.#since = now;
    this.#sum += this.#value * duration;
    this.#squares += this.#value * this.#value * duration;
  }
}

export interface DemandReading {
  readonly average: number;
  readonly deviation: number;
  readonly highWatermark: number;
}

/** Rises immediately, and decays to half in about five minutes of periods. */
const SMOOTHING = 0.977;

/** After so many periods of the present demand. */
export function smoothedDemand(former: number, { average, deviation }: DemandReading, periods: number): number {
  const envelope = average + deviation;
  const kept = SMOOTHING ** periods;
  return Math.max(envelope, kept * former + (1 - kept) * envelope);
}
