import { SUSPEND_TOLD_MS } from './limits.ts';

export interface SuspendClocks {
  /** Milliseconds of a clock that includes suspend. */
  readonly boot: () => number;
  /** Milliseconds of a clock that stands still during suspend. */
  readonly monotonic: () => number;
}

/** Reports a suspend of the machine: the clock that includes it has run ahead of the other since the last look. */
export function createSuspendTelltale(clocks: SuspendClocks, tell: (message: string) => void): () => void {
  const ahead = (): number => clocks.boot() - clocks.monotonic();
  let lastAheadMs = ahead();
  return () => {
    const aheadMs = ahead();
    const suspendedMs = Math.round(aheadMs - lastAheadMs);
    if (suspendedMs > SUSPEND_TOLD_MS) tell(`the machine was suspended for ${suspendedMs} ms`);
    lastAheadMs = aheadMs;
  };
}
