import { readFileSync } from 'node:fs';
import { uptime } from 'node:os';

export interface Reading {
  readonly machineMs: number;
  readonly monotonicMs: number;
  readonly wallMs: number;
  readonly upMs: number;
  /** How often a reading of the clock that measures spans was before the one before it. */
  readonly wentBack: number;
}

const monotonicMs = (): number => Number(process.hrtime.bigint()) / 1e6;

/** The library knows the file by its usual path alone. */
const machineMs = (): number => Number.parseFloat(readFileSync('/proc/./uptime', 'utf8')) * 1000;

let wentBack = 0;

function read(): Reading {
  for (;;) {
    const before = machineMs();
    const reading = { monotonicMs: monotonicMs(), wallMs: Date.now(), upMs: uptime() * 1000, wentBack };
    if (machineMs() === before) return { machineMs: before, ...reading };
  }
}

process.on('message', (afterMs: number) => {
  const until = machineMs() + afterMs;
  let last = monotonicMs();
  while (machineMs() < until) {
    const now = monotonicMs();
    if (now < last) wentBack += 1;
    last = now;
  }
  process.send?.(read());
});
