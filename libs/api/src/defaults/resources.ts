import { canonicalQuantity, formatQuantity, parseQuantity } from '@holdfast/machinery';
import type { Quantity } from '../generated/types.ts';

const NANOS_PER_MILLI = 1_000_000n;

/** Resource amounts have a resolution of thousandths. Finer amounts round up, so that no request shrinks. */
export function setResourceListDefaults(list: Record<string, Quantity> | undefined): void {
  if (list === undefined) return;
  for (const name of Object.keys(list)) {
    const text = list[name];
    if (typeof text === 'string' && text !== '') list[name] = roundedToMilli(text);
    else if (typeof text === 'number') list[name] = canonicalQuantity(String(text));
  }
}

function roundedToMilli(text: string): string {
  // The usual amounts are integers or thousandths and need no arithmetic.
  if (/^[0-9]+(m|[kMGTP]i?|Ki)?$/.test(text) && text.length <= 6) return canonicalQuantity(text);
  const quantity = parseQuantity(text);
  const rest = quantity.nano % NANOS_PER_MILLI;
  if (rest === 0n) return formatQuantity(quantity);
  const up = rest > 0n ? NANOS_PER_MILLI - rest : -rest;
  return formatQuantity({ ...quantity, nano: quantity.nano + up });
}
