import type { Store, WriteRoom } from './port.ts';
import { writingBy } from './writing-by.ts';

/** Wraps a store; every write gets at least this room. */
export function inRoom(store: Store, room: WriteRoom): Store {
  return writingBy(store, (operations, options) =>
    store.write(operations, { ...options, room: wider(options?.room, room) }),
  );
}

const WIDTHS = ['ordinary', 'releasing', 'system'] as const satisfies readonly WriteRoom[];

const wider = (one: WriteRoom = 'ordinary', other: WriteRoom): WriteRoom =>
  WIDTHS.indexOf(one) > WIDTHS.indexOf(other) ? one : other;
