/** What a watch has told on one connection. */
export interface Stretch {
  readonly client: string;
  /** The revision from which it went on. */
  readonly after: number;
  readonly events: readonly Told[];
  /** Everything up to this revision has been told when the client hung up: known for the last connection. */
  readonly upTo?: number;
}

export interface Told {
  readonly revision: number;
  readonly type: string;
}

/** A committed change of the kind that is watched. */
export interface Written {
  readonly revision: number;
  readonly kind: 'create' | 'update' | 'delete';
}

const TYPES = { create: 'ADDED', update: 'MODIFIED', delete: 'DELETED' } as const;

/** Each watch tells every change after its start once, in order, and as what it was. `written`: in the order of the store. */
export function brokenWatches(stretches: readonly Stretch[], written: readonly Written[]): readonly string[] {
  return stretches.flatMap((stretch) => {
    const wrong = wrongIn(stretch, written);
    return wrong === undefined ? [] : [`${stretch.client}: ${wrong}`];
  });
}

function wrongIn({ after, events, upTo = 0 }: Stretch, written: readonly Written[]): string | undefined {
  const due = written.slice(firstAfter(written, after));
  let last = after;
  for (const [index, { revision, type }] of events.entries()) {
    const expected = due[index];
    if (expected?.revision !== revision)
      return `after revision ${last} the watch tells ${revision}; the store has ${expected?.revision ?? 'nothing'} there`;
    if (TYPES[expected.kind] !== type)
      return `the watch tells revision ${revision} as ${type}; it is a ${expected.kind}`;
    last = revision;
  }
  const missing = due[events.length];
  return missing !== undefined && missing.revision <= upTo
    ? `the watch has not told revision ${missing.revision} although everything was quiet`
    : undefined;
}

function firstAfter(written: readonly Written[], revision: number): number {
  let [low, high] = [0, written.length];
  while (low < high) {
    const middle = (low + high) >> 1;
    if ((written[middle]?.revision ?? 0) <= revision) low = middle + 1;
    else high = middle;
  }
  return low;
}
