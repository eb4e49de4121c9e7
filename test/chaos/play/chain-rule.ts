import type { Commit } from '../../sim/committed.ts';

/** Each change of an object builds on the one before it: anything else is a history that no compare-and-swap has made. */
export class ChainRule {
  readonly #revisions = new Map<string, number>();
  #first: number | undefined;

  /** A revision without a change, too. Returns what is wrong with the change. */
  observe(revision: number, commit?: Commit): string | undefined {
    this.#first ??= revision;
    if (commit === undefined) return undefined;
    const { operation } = commit;
    const { key } = operation;
    const expected = operation.kind === 'create' ? undefined : operation.expectedRevision;
    const known = this.#revisions.get(key);
    if (operation.kind === 'delete') this.#revisions.delete(key);
    else this.#revisions.set(key, revision);
    // What was written before the first revision that was read is not known.
    if (known === expected || (known === undefined && this.#first !== 1)) return undefined;
    return `the change of ${key} at ${revision} builds on ${expected ?? 'nothing'}, and the store had ${known ?? 'nothing'}`;
  }
}
