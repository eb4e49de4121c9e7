/** One event at a virtual time. */
export interface SimEvent {
  /** Virtual time in whole ticks. */
  readonly atTicks: number;
  /** Drawn from the seed: the order of simultaneous events is part of what a seed explores. */
  readonly tieBreak: number;
  readonly sequence: number;
  /** Folded into the trace hash. */
  readonly label: string;
  /** The process in which it happens, where that matters. */
  readonly at?: string | undefined;
  readonly fire: () => void;
  /** False once its component has crashed or cancelled it. Then the event is dropped. */
  readonly wanted: () => boolean;
}

/** Orders events by time, then tie-break, then sequence. */
export function isEarlier(a: SimEvent, b: SimEvent): boolean {
  if (a.atTicks !== b.atTicks) return a.atTicks < b.atTicks;
  return a.tieBreak === b.tieBreak ? a.sequence < b.sequence : a.tieBreak < b.tieBreak;
}
