/** The time since which each missing node has been missing, on this process's own monotonic clock. */
export type Quarantine = ReadonlyMap<string, number>;

export interface QuarantineDecision {
  readonly next: Quarantine;
  /** Missing long enough: to be confirmed by asking the API for the node itself. */
  readonly due: readonly string[];
}

/**
 * A node that pods name and the cache does not have may only be late in the cache. It has to be missing without a break
 * for the whole quarantine; one that shows up again starts anew the next time.
 */
export function decideQuarantine(
  quarantine: Quarantine,
  picture: { readonly named: ReadonlySet<string>; readonly known: ReadonlySet<string> },
  clock: { readonly monotonicMs: number; readonly quarantineMs: number },
): QuarantineDecision {
  const missing = [...picture.named].filter((name) => !picture.known.has(name)).sort();
  const next = new Map(missing.map((name) => [name, quarantine.get(name) ?? clock.monotonicMs]));
  const due = missing.filter((name) => clock.monotonicMs - (next.get(name) ?? 0) >= clock.quarantineMs);
  return { next, due };
}
