import type { Store } from './port.ts';

/** The same store with another way of writing. */
export function writingBy(store: Store, write: Store['write']): Store {
  const { cautions } = store;
  return {
    get: (key) => store.get(key),
    list: (prefix, options) => store.list(prefix, options),
    write,
    changes: (options) => store.changes(options),
    currentRevision: () => store.currentRevision(),
    compactedRevision: () => store.compactedRevision(),
    lineage: () => store.lineage(),
    writeIdAt: (revision) => store.writeIdAt(revision),
    halt: (reason) => store.halt(reason),
    haltedBy: () => store.haltedBy(),
    compact: (upTo) => store.compact(upTo),
    usage: () => store.usage(),
    health: () => store.health(),
    ...(cautions === undefined ? {} : { cautions: () => cautions.call(store) }),
    ...(store.atRest === undefined ? {} : { atRest: store.atRest }),
    close: () => store.close(),
  };
}
