import { formatQuantity, parseQuantity, value } from '@holdfast/machinery';
import type { Signal } from './signals.ts';
import { type EvictionConfig, reservedFor } from './thresholds.ts';

type Amounts = Readonly<Record<string, string>>;

/** The hard limits under which pods are ended: what lies below them must not be promised. */
const SIGNAL_OF: ReadonlyMap<string, Signal> = new Map(
  Object.entries({
    memory: 'memory.available',
    'ephemeral-storage': 'nodefs.available',
  }),
);

/** Returns the allocatable resources: capacity without reservations and eviction thresholds. */
export function allocatableOf(capacity: Amounts, reserved: readonly Amounts[], eviction: EvictionConfig): Amounts {
  const entries = Object.entries(capacity).map(([name, text]) => {
    const signal = SIGNAL_OF.get(name);
    const whole = parseQuantity(text);
    const held = signal === undefined ? 0 : reservedFor(eviction, signal, value(whole));
    const taken = [...reserved.flatMap((each) => each[name] ?? []), `${held}`].map(parseQuantity);
    if (taken.every(({ nano }) => nano === 0n)) return [name, text] as const;
    const nano = taken.reduce((left, each) => left - each.nano, whole.nano);
    return [name, formatQuantity({ nano: nano < 0n ? 0n : nano, format: whole.format })] as const;
  });
  return Object.fromEntries(entries);
}
