import { type ApiRequest, NOTHING_SEEN, SEEN_ANNOTATION, SEEN_HEADER } from '@holdfast/client';
import { expired } from '@holdfast/machinery';
import { Compacted, type Store, StoreHalted } from '@holdfast/store';
import type { WatchCache } from '../cache/watch-cache.ts';
import { lineageName, markOf, readToken, type SeenPlace, tokenOf } from './token.ts';

/**
 * Compares what clients of ours have seen with the history that is served. A server that starts remembers nothing; its clients do. A
 * token that an API server of this lineage has signed and that the history contradicts proves that the data went back or another
 * way: the store is halted. A client of another lineage gets 410 and lists again.
 */
export interface LineageGuard {
  /** Refuses a client whose state does not belong to the history. Clients without a token are not checked. */
  admit(request: ApiRequest, resumesFrom?: number): Promise<void>;
  /** For the response: the token of a client that has read all of it. */
  headers(request: ApiRequest, revision: number): Readonly<Record<string, string>>;
  /** The same for a bookmark. */
  annotations(request: ApiRequest, revision: number): Readonly<Record<string, string>>;
}

export function createLineageGuard(deps: { readonly store: Store; readonly cache: WatchCache }): LineageGuard {
  const { store, cache } = deps;
  /** The last one: clients that start together, and watchers of one change, are at one revision. */
  let last:
    | {
        readonly revision: number;
        readonly epoch: number;
        readonly writeId: string | undefined;
        readonly token: string;
      }
    | undefined;
  const tokenAt = (request: ApiRequest, revision: number): string | undefined => {
    if (request.headers[SEEN_HEADER] === undefined) return undefined;
    const lineage = store.lineage();
    const writeId = cache.writeIdAt(revision);
    if (last?.revision === revision && last.epoch === lineage.epoch && last.writeId === writeId) return last.token;
    const token = tokenOf(lineage, revision, writeId);
    last = { revision, epoch: lineage.epoch, writeId, token };
    return token;
  };
  const named = (name: string, token: string | undefined): Readonly<Record<string, string>> =>
    token === undefined ? {} : { [name]: token };
  return {
    admit: async (request, resumesFrom) => {
      const token = request.headers[SEEN_HEADER];
      if (token === undefined || token === NOTHING_SEEN) return;
      const lineage = store.lineage();
      const seen = readToken(lineage, token);
      if (seen === undefined || seen.lineage !== lineageName(lineage)) throw otherLineage();
      await refuseContradiction(store, seen);
      // An earlier process may have sent it the changes in between: this one cannot know whether they match the store.
      if (resumesFrom !== undefined && resumesFrom > 0 && seen.revision < cache.completeSince) throw beforeThisServer();
    },
    headers: (request, revision) => named(SEEN_HEADER, tokenAt(request, revision)),
    annotations: (request, revision) => named(SEEN_ANNOTATION, tokenAt(request, revision)),
  };
}

async function refuseContradiction(store: Store, seen: SeenPlace): Promise<void> {
  const current = await store.currentRevision();
  const contradiction = seen.revision > current ? `the data end at ${current}` : await otherWrite(store, seen);
  if (contradiction === undefined) return;
  const reason = `a client has seen revision ${seen.revision} of this history, but ${contradiction}: older data were put in place`;
  store.halt(reason);
  throw new StoreHalted(reason);
}

async function otherWrite(store: Store, { revision, mark }: SeenPlace): Promise<string | undefined> {
  if (mark === '' || revision === 0) return undefined;
  try {
    const found = markOf(await store.writeIdAt(revision));
    return found === mark ? undefined : 'the data have another change there';
  } catch (error) {
    if (error instanceof Compacted) return undefined;
    throw error;
  }
}

const otherLineage = () =>
  expired('The history that this state was read from is over: the store was replaced. List again.');

const beforeThisServer = () =>
  expired('This server has started since this state was read and cannot vouch for it. List again.');
