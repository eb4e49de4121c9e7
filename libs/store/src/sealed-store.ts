import { REOPENED_PAGE_OBJECTS, REOPENINGS_MAX } from './limits.ts';
import type { Change, ListOptions, ListPage, Store, StoredObject } from './port.ts';
import { type Sealer, Unreadable } from './sealed-port.ts';
import { SealedValues } from './sealed-values.ts';
import { writingBy } from './writing-by.ts';

/** Wraps a store and encrypts its values. Readers of the base store see the encrypted form. */
export function createSealedStore(store: Store, sealer: Sealer): Store {
  const sealed = new SealedValues(sealer);
  sealer.onReady?.(reopening(store, sealed));
  const write: Store['write'] = async (operations, options) =>
    store.write(
      operations.map((operation) => sealed.sealed(operation)),
      options,
    );
  return {
    ...writingBy(store, write),
    get: async (key) => {
      const { revision, object } = await store.get(key);
      if (object === undefined) return { revision, object };
      const preparing = sealed.prepared([object], 'request');
      if (preparing !== undefined) await preparing;
      return { revision, object: sealed.opened(object) };
    },
    list: (prefix, options) => listReadable(store, sealed, prefix, options),
    changes: (options) => openedChanges(store.changes(options), sealed),
    atRest: sealed,
  };
}

async function* openedChanges(
  feed: AsyncIterable<readonly Change[]>,
  sealed: SealedValues,
): AsyncGenerator<readonly Change[]> {
  for await (const changes of feed) {
    const preparing = sealed.prepared(changes, 'feed');
    if (preparing !== undefined) await preparing;
    yield changes.map((change) => sealed.openedChange(change));
  }
}

/** Omits undecryptable objects and remembers them. A page is empty only when no object follows it. */
async function listReadable(
  store: Store,
  sealed: SealedValues,
  ...[prefix, options]: [string, ListOptions | undefined]
): Promise<ListPage> {
  let after = options?.after;
  for (;;) {
    const page = await store.list(prefix, { ...options, ...(after === undefined ? {} : { after }) });
    const preparing = sealed.prepared(page.objects, 'request');
    if (preparing !== undefined) await preparing;
    const objects = page.objects.flatMap((object) => readable(sealed, object));
    if (objects.length > 0 || !page.more) return { ...page, objects };
    after = page.objects.at(-1)?.key;
  }
}

function readable(sealed: SealedValues, object: StoredObject): readonly StoredObject[] {
  try {
    return [sealed.opened(object)];
  } catch (error) {
    if (error instanceof Unreadable) return [];
    throw error;
  }
}

/**
 * Returns a function that reads again the resources with undecryptable objects. A signal during this asks for one more
 * read, within bounds, because reading may cause signals. Objects that are still undecryptable stay marked.
 */
function reopening(store: Store, sealed: SealedValues): () => void {
  let isReopening = false;
  let isAskedAgain = false;
  const reopen = async (): Promise<void> => {
    for (let count = 0; count < REOPENINGS_MAX; count++) {
      isAskedAgain = false;
      for (const prefix of sealed.unreadableResources()) await readAll(store, sealed, prefix);
      if (!isAskedAgain || sealed.unreadableCount() === 0) return;
    }
  };
  return () => {
    isAskedAgain = true;
    if (isReopening || sealed.unreadableCount() === 0) return;
    isReopening = true;
    // A store that fails is reported by its other readers.
    reopen()
      .catch(() => {})
      .finally(() => {
        isReopening = false;
      });
  };
}

async function readAll(store: Store, sealed: SealedValues, prefix: string): Promise<void> {
  let after: string | undefined;
  for (let more = true; more; ) {
    const page = await listReadable(store, sealed, prefix, {
      limit: REOPENED_PAGE_OBJECTS,
      ...(after === undefined ? {} : { after }),
    });
    after = page.objects.at(-1)?.key;
    more = page.more && after !== undefined;
  }
}
