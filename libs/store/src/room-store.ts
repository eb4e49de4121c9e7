import type { Store, WriteRoom } from './port.ts';

/** Wraps a store; every write gets at least this room. */
export function inRoom(store: Store, room: WriteRoom): Store {
  const { cautions } = store;
  return {
    get: (key) => store.get(key),
    list: (prefix, options) => store.list(prefix, options),
    write: (operations, options) => store.write(operations, { ...options, room: wider(options?.room, room) }),
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

const WIDTHS = ['ordinary', 'releasing', 'system'] as const satisfies readonly WriteRoom[];

const wider = (one: WriteRoom = 'ordinary', other: WriteRoom): WriteRoom =>
  WIDTHS.indexOf(one) > WIDTHS.indexOf(other) ? one : other;
