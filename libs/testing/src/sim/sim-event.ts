/** One thing that will happen at a virtual time. */
export interface SimEvent {
  /** Virtual time, whole ticks. */
  readonly atTicks: number;
  /** Drawn from the seed: the order of events at the same time is part of what a seed explores. */
  readonly tieBreak: number;
  readonly sequence: number;
  /** What is folded into the trace hash. */
  readonly label: string;
  /** The process in which it happens, where that matters. */
  readonly at?: string | undefined;
  readonly fire: () => void;
  /** False once the component that asked for it has crashed or cancelled: the event is dropped. */
  readonly wanted: () => boolean;
}

/** Whether `a` happens before `b`: by time, then tie-break, then sequence. */
export function isEarlier(a: SimEvent, b: SimEvent): boolean {
  if (a.atTicks !== b.atTicks) return a.atTicks < b.atTicks;
  return a.tieBreak === b.tieBreak ? a.sequence < b.sequence : a.tieBreak < b.tieBreak;
}
