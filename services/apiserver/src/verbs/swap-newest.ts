import type { SealedView, Store } from '@holdfast/store';
import type { CachedObject } from '../cache/cached-object.ts';
import { readLatest } from '../cache/reader.ts';
import type { WatchCache } from '../cache/watch-cache.ts';
import { WRITE_ATTEMPTS_MAX } from '../limits.ts';

/** What an attempt does about the state that it was given. */
export type Proposal<T> =
  /** There is nothing to write. */
  | { readonly answer: T }
  /** Resolves with undefined when another writer was faster. */
  | { readonly write: () => Promise<T | undefined> };

interface States {
  readonly store: Pick<Store, 'get'> & { readonly atRest?: Pick<SealedView, 'covers'> };
  readonly cache: Pick<WatchCache, 'byKey'>;
}

/** Given a state, or undefined when the store has none. Runs again for every attempt. */
export type Propose<T> = (stored: CachedObject | undefined) => Promise<Proposal<T>>;

/**
 * The compare-and-swap loop of everything that changes an object. The first attempt begins with the state in the cache: the swap
 * itself proves that this was the newest. What writes nothing proves nothing, so the store is asked then, and only another state
 * there repeats the attempt. Resolves with undefined when other writers were faster each time.
 */
export async function swapNewest<T>(core: States, key: string, propose: Propose<T>): Promise<T | undefined> {
  const known = knownState(core, key);
  const early = known === undefined ? undefined : await settle(propose(known));
  if (early !== undefined && 'write' in early) {
    const written = await early.write();
    if (written !== undefined) return written;
  }
  for (let attempt = 1; attempt <= WRITE_ATTEMPTS_MAX; attempt++) {
    const stored = await readLatest(core, key);
    const isSettled = early !== undefined && !('write' in early) && stored?.revision === known?.revision;
    const proposal = isSettled ? concluded(early) : await propose(stored);
    if ('answer' in proposal) return proposal.answer;
    const written = await proposal.write();
    if (written !== undefined) return written;
  }
  return undefined;
}

/** Only a read says whether an encrypted object is readable, and whether its form is stale. */
function knownState({ store, cache }: States, key: string): CachedObject | undefined {
  return store.atRest?.covers(key) === true ? undefined : cache.byKey(key);
}

type Settled<T> = Proposal<T> | { readonly refusal: unknown };

const settle = <T>(proposing: Promise<Proposal<T>>): Promise<Settled<T>> =>
  proposing.catch((refusal: unknown) => ({ refusal }));

function concluded<T>(settled: Settled<T>): Proposal<T> {
  if ('refusal' in settled) throw settled.refusal;
  return settled;
}
