import {
  type Change,
  OutcomeUnknown,
  type Revision,
  type Store,
  StoreFull,
  StoreUnavailable,
  type WriteOperation,
} from '@holdfast/store';
import type { SimulatedMachine } from '@holdfast/testing';

/** The current state of the path between one API server and the store. It changes during a run. */
export interface StoreWay {
  /** Longest time of one direction. */
  latencyMs: number;
  /** How much later than an answer a change is told. */
  feedMs: number;
  /** Longest time that a page of a load takes beside that. It stays when the faults are over. */
  pageMs: number;
  /** Nothing gets through; followers end. */
  isDown: boolean;
  /** No room: writes are refused, unless they only remove. */
  isFull: boolean;
  /** Chance that the answer of a write is lost, although it was done. */
  unknown: number;
}

export const goodWay = (pageMs = 0): StoreWay => ({
  latencyMs: 2,
  feedMs: 0,
  pageMs,
  isDown: false,
  isFull: false,
  unknown: 0,
});

/** What a full store says that it has. */
const FULL_BYTES = 2 ** 30;
const SHORTEST_SHARE = 0.1;
const PAGE_OBJECTS = 40;

type OnWrite = (operations: readonly WriteOperation[]) => void;

/**
 * A store with latency, so that requests overlap inside the server, and with the faults of its path. It runs on the
 * clock of its user: work of a crashed API server does not continue. `onWrite`: a write is done, and not answered yet.
 */
export function createFaultyStore(
  store: Store,
  machine: SimulatedMachine,
  way: StoreWay,
  onWrite: OnWrite = () => {},
): Store {
  return new Proxy(store, {
    get: (of, name) => {
      if (name === 'write') return writeOver(store, machine, way, onWrite);
      if (name === 'changes') return changesOver(store, machine, way);
      const member: unknown = Reflect.get(of, name);
      if (typeof member !== 'function') return member;
      if (name === 'list') return listOver(store, machine, way);
      if (!ASKED.has(name)) return member.bind(of);
      return (...given: unknown[]) => ask(machine, way, () => Reflect.apply(member, of, given) as unknown);
    },
  });
}

const ASKED = new Set<string | symbol>(['get', 'currentRevision', 'compactedRevision', 'writeIdAt', 'compact']);

/** A read is of the moment at which the store has it, between the ways there and back. */
async function ask<T>(machine: SimulatedMachine, way: StoreWay, read: () => T | Promise<T>): Promise<T> {
  await travel(machine, way);
  if (way.isDown) throw new StoreUnavailable('the read got no answer');
  const answer = await read();
  await travel(machine, way);
  if (way.isDown) throw new StoreUnavailable('the answer was lost');
  return answer;
}

/** Where pages are asked for, they are small: a load takes several, of different moments. */
function listOver(store: Store, machine: SimulatedMachine, way: StoreWay): Store['list'] {
  return (prefix, options) => {
    const { limit } = options ?? {};
    const asked = limit === undefined ? options : { ...options, limit: Math.min(limit, PAGE_OBJECTS) };
    return ask(machine, way, async () => {
      const page = await store.list(prefix, asked);
      if (limit !== undefined && way.pageMs > 0) await machine.clock.sleep(way.pageMs * machine.random.float());
      return page;
    });
  };
}

function travel({ clock, random }: SimulatedMachine, { latencyMs }: StoreWay): Promise<void> {
  return clock.sleep(latencyMs * (SHORTEST_SHARE + random.float() * (1 - SHORTEST_SHARE)));
}

function writeOver(store: Store, machine: SimulatedMachine, way: StoreWay, onWrite: OnWrite): Store['write'] {
  return async (operations, options) => {
    await travel(machine, way);
    if (way.isDown) throw new StoreUnavailable('the write got no answer');
    if (way.isFull && operations.some(({ kind }) => kind !== 'delete')) throw new StoreFull(FULL_BYTES, FULL_BYTES);
    const result = await store.write(operations, options);
    onWrite(operations);
    const isLost = way.unknown > 0 && machine.random.float() < way.unknown;
    await travel(machine, way);
    if (isLost || way.isDown) throw new OutcomeUnknown(options?.writeId ?? 'without a name');
    return result;
  };
}

/** Changes arrive late, several together; while the way is down the follower loses its connection. */
function changesOver(store: Store, machine: SimulatedMachine, way: StoreWay): Store['changes'] {
  return async function* follow(options: {
    readonly after: Revision;
    readonly signal: AbortSignal;
  }): AsyncGenerator<readonly Change[]> {
    for await (const changes of store.changes(options)) {
      await travel(machine, way);
      if (way.feedMs > 0) await machine.clock.sleep(way.feedMs);
      if (way.isDown) throw new StoreUnavailable('the connection was lost');
      yield changes;
    }
  };
}
