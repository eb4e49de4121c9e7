import { StatusError } from '@holdfast/machinery';
import type { SealedView, Store } from '@holdfast/store';
import type { CachedObject } from '../cache/cached-object.ts';
import { readLatest } from '../cache/reader.ts';
import type { WatchCache } from '../cache/watch-cache.ts';
import type { ResourceContext } from '../http/context.ts';
import { holdRemarks } from '../http/held-remarks.ts';
import { refuseLate } from '../http/out-of-time.ts';
import { WRITE_ATTEMPTS_MAX } from '../limits.ts';
import type { SentWrite } from './sent-write.ts';

/** What an attempt does about the state that it was given. */
export type Proposal<T> =
  /** There is nothing to write. */
  | { readonly answer: T }
  /** Resolves with undefined when another writer was faster. */
  | { readonly write: (sent: SentWrite) => Promise<T | undefined> };

/**
 * Given a state, or undefined when the store has none. Runs again for every attempt, and what it returns may be thrown away: it keeps
 * nothing, and remarks only to the context that it is given.
 */
export type Propose<T> = (stored: CachedObject | undefined, context: ResourceContext) => Promise<Proposal<T>>;

interface States {
  readonly store: Pick<Store, 'get'> & { readonly atRest?: Pick<SealedView, 'covers'> };
  readonly cache: Pick<WatchCache, 'byKey' | 'current'>;
}

/**
 * The compare-and-swap loop of everything that changes an object. The first attempt begins with the state in the cache: a swap that
 * succeeds proves that this state was the newest. An answer and a refusal prove nothing, so the store is asked then, and another
 * state there repeats the attempt. Resolves with undefined when other writers were faster each time.
 */
export async function swapNewest<T>(
  core: States,
  context: ResourceContext,
  key: string,
  propose: Propose<T>,
): Promise<T | undefined> {
  const known = knownState(core, key);
  const early = known === undefined ? undefined : await attemptOn(known, context, propose);
  if (early?.kind === 'written') return early.result;
  for (let attempt = 1; attempt <= WRITE_ATTEMPTS_MAX; attempt++) {
    const stored = await readLatest(core, key);
    if (early?.kind === 'unproven' && stored?.revision === known?.revision) return early.conclude();
    if (early !== undefined) refuseLate(context.request);
    const outcome = await attemptOn(stored, context, propose);
    if (outcome.kind === 'written') return outcome.result;
    if (outcome.kind === 'unproven') return outcome.conclude();
  }
  return undefined;
}

/**
 * Only a read says whether an encrypted object is readable, and whether its form is stale. A cache that hears nothing has old
 * states.
 */
function knownState({ store, cache }: States, key: string): CachedObject | undefined {
  if (store.atRest?.covers(key) === true || !cache.current) return undefined;
  return cache.byKey(key);
}

type Outcome<T> =
  | { readonly kind: 'written'; readonly result: T }
  /** Another writer was faster. */
  | { readonly kind: 'lost' }
  /** An answer or a refusal: right if the state was the newest. */
  | { readonly kind: 'unproven'; readonly conclude: () => T };

async function attemptOn<T>(
  stored: CachedObject | undefined,
  whole: ResourceContext,
  propose: Propose<T>,
): Promise<Outcome<T>> {
  const { context, tell } = holdRemarks(whole);
  const sent: SentWrite = { mayBeApplied: false };
  try {
    const proposal = await propose(stored, context);
    if ('answer' in proposal) return { kind: 'unproven', conclude: () => (tell(), proposal.answer) };
    refuseLate(context.request);
    const result = await proposal.write(sent);
    if (result === undefined) return { kind: 'lost' };
    tell();
    return { kind: 'written', result };
  } catch (error) {
    if (error instanceof StatusError && !sent.mayBeApplied)
      return { kind: 'unproven', conclude: () => refuse(tell, error) };
    tell();
    throw error;
  }
}

function refuse(tell: () => void, refusal: StatusError): never {
  tell();
  throw refusal;
}
