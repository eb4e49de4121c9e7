import { closeSync, fdatasyncSync, openSync, rmSync, writeSync } from 'node:fs';
import path from 'node:path';

export interface Figure {
  readonly row: string;
  readonly value: number;
  readonly unit: string;
  readonly note: string;
  /** Requests or deliveries behind the figure, for what each cost the server. */
  readonly operations?: number;
}

export function percentile(sorted: readonly number[], share: number): number {
  return sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))] ?? Number.NaN;
}

export function ascending(values: readonly number[]): readonly number[] {
  return values.toSorted((a, b) => a - b);
}

/** Median time of a small write plus fdatasync in this folder: durable rows mean little without it. */
export function fsyncMs(folder: string): number {
  const file = path.join(folder, `.bench-fsync-${process.pid}`);
  const descriptor = openSync(file, 'w');
  const times: number[] = [];
  for (let i = 0; i < 200; i++) {
    const startedAt = performance.now();
    writeSync(descriptor, 'x'.repeat(512));
    fdatasyncSync(descriptor);
    times.push(performance.now() - startedAt);
  }
  closeSync(descriptor);
  rmSync(file);
  return percentile(ascending(times), 0.5);
}

export function printFigure({ row, value, unit, note }: Figure): void {
  const digits = value >= 100 ? 0 : value >= 10 ? 1 : 2;
  process.stdout.write(`${row.padEnd(20)} ${value.toFixed(digits).padStart(8)} ${unit.padEnd(11)} ${note}\n`);
}
