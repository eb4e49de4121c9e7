import { invariant } from '@holdfast/platform';
import type { NatsConnection } from 'nats';
import { ADOPTION_JUMP } from '../limits.ts';
import { type Lineage, type Revision, StoreUnavailable } from '../port.ts';
import { beginEpoch, firstState } from './begin-epoch.ts';
import { type Command, encodeEntry } from './entry.ts';
import { DEFAULT_REPLICAS } from './guarantee-check.ts';
import { lastMessage, store } from './jetstream.ts';
import type { Dial } from './link.ts';
import { LogReplica } from './log-replica.ts';
import type { LogStoreOptions } from './log-store.ts';
import { movedError } from './open-errors.ts';
import { findNewestSnapshot, IncompleteLog, type NewestSnapshot } from './snapshots.ts';
import type { MachineState } from './state-machine.ts';

export type AdoptLogOptions = Omit<LogStoreOptions, 'retention' | 'limits'>;

/**
 * Ends a halt: continues with what the log and its snapshots contain, in a log of the next epoch. The old log gets a
 * halt as its last effective entry, so no API server that still runs writes behind the point of adoption; it stays, as
 * evidence. Where the log has lost what its newest snapshot has, the snapshot is the content.
 */
export async function adoptLogStore(options: AdoptLogOptions, dial?: Dial): Promise<Revision> {
  const replica = await LogReplica.open(options, dial);
  try {
    const { connection, names, lineage, current } = replica;
    if (connection === undefined) throw new StoreUnavailable('the connection was lost; try again');
    const newest = await findNewestSnapshot({ connection, names, current });
    const closed = await closeLog(connection, replica, options.ids.uuid());
    const lost = newest === undefined ? undefined : await lostState(replica, newest, closed);
    if (lost !== undefined)
      options.log.warn('the log has lost what its newest snapshot has, which is adopted', { ...closed });
    const adopted = nextEpoch(lost ?? (await replica.readUpTo(closed.upTo)));
    const next: Lineage = { incarnation: lineage.incarnation, epoch: lineage.epoch + 1 };
    const before = await lastMessage(connection, names.baseStream, names.recordSubject);
    const replicas = options.replicas ?? DEFAULT_REPLICAS;
    const switched = await beginEpoch(connection, {
      names,
      lineage: next,
      state: adopted,
      replicas,
      after: before?.sequence ?? 0,
    });
    if (!switched) throw movedError();
    return adopted.table.revision;
  } finally {
    await replica.close();
  }
}

interface Closed {
  readonly from: number;
  readonly upTo: number;
}

/**
 * What the newest snapshot has and the log does not. API servers that noticed it have added entries, so a log that ended
 * before may reach beyond the snapshot by now: then its entries lead to a lower revision at the same place.
 */
async function lostState(
  replica: LogReplica,
  newest: NewestSnapshot,
  { from }: Closed,
): Promise<MachineState | undefined> {
  const state = await newest.load();
  if (from <= newest.position) {
    if (state === undefined) throw new IncompleteLog('the log ends before its newest snapshot, which is damaged');
    return state;
  }
  if (state === undefined) return undefined;
  const { position, table } = await replica.readUpTo(newest.position);
  return position === newest.position && table.revision < state.table.revision ? state : undefined;
}

/** Resolves with the sequences of the entries that close the old log. It counts up to the last one. */
async function closeLog(connection: NatsConnection, { current, names }: LogReplica, session: string): Promise<Closed> {
  const base = { session, claim: undefined, limits: undefined, writes: [] };
  const reason = 'the store was adopted and continues in the next epoch: restart this API server';
  const subject = names.logSubject(current.lineage);
  const add = async (number: number, command: Command): Promise<number> => {
    const data = encodeEntry({ ...base, number, command });
    const sequence = await store(connection, { stream: current.stream, subject, data });
    invariant(sequence !== undefined, 'an entry is stored whatever was there');
    return sequence;
  };
  return { from: await add(1, { kind: 'open' }), upTo: await add(2, { kind: 'halt', reason }) };
}

/** The objects as they are; their history, sessions and write ids end with the epoch. */
function nextEpoch({ table }: MachineState): MachineState {
  return firstState(table, table.revision + ADOPTION_JUMP);
}
