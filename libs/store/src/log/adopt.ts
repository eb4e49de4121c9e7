import type { NatsConnection } from 'nats';
import { ADOPTION_JUMP } from '../limits.ts';
import { type Lineage, type Revision, StoreUnavailable } from '../port.ts';
import { encodeEntry } from './entry.ts';
import { HistorySizes } from './history-sizes.ts';
import { createStream, lastMessage, store } from './jetstream.ts';
import { encodeRecord, type LogNames, logStreamConfig } from './layout.ts';
import { LogReplica } from './log-replica.ts';
import type { LogStoreOptions } from './log-store.ts';
import { movedError } from './open-errors.ts';
import { takeSnapshot } from './snapshots.ts';
import type { MachineState } from './state-machine.ts';
import { WriteIds } from './write-ids.ts';

export type AdoptLogOptions = Omit<LogStoreOptions, 'retention' | 'limits'>;

/**
 * Ends a halt: continues with what the log and its snapshots contain, in a log of the next epoch. The old log gets a
 * halt as its last effective entry, so no API server that still runs writes behind the point of adoption; it stays, as
 * evidence.
 */
export async function adoptLogStore(options: AdoptLogOptions): Promise<Revision> {
  const replica = await LogReplica.open(options);
  try {
    const { connection, names, lineage } = replica;
    if (connection === undefined) throw new StoreUnavailable('the connection was lost; try again');
    const last = await closeLog(connection, replica, options.ids.uuid());
    const adopted = nextEpoch(await replica.readUpTo(last));
    const next: Lineage = { incarnation: lineage.incarnation, epoch: lineage.epoch + 1 };
    await beginLog(connection, { names, next, adopted, replicas: options.replicas ?? 3 });
    return adopted.table.revision;
  } finally {
    await replica.close();
  }
}

/** Resolves with the sequence up to which the old log counts. */
async function closeLog(connection: NatsConnection, { current, names }: LogReplica, session: string): Promise<number> {
  const base = { session, claim: undefined, limits: undefined, writes: [] };
  const reason = 'the store was adopted and continues in the next epoch: restart this API server';
  const subject = names.logSubject(current.lineage);
  let last = 0;
  for (const [index, command] of ([{ kind: 'open' }, { kind: 'halt', reason }] as const).entries()) {
    const data = encodeEntry({ ...base, number: index + 1, command });
    last = (await store(connection, { stream: current.stream, subject, data })) ?? 0;
  }
  return last;
}

/** The objects as they are; their history, sessions and write ids end with the epoch. */
function nextEpoch({ table }: MachineState): MachineState {
  const revision = table.revision + ADOPTION_JUMP;
  table.restoreRevision(revision);
  return {
    position: 0,
    digest: '',
    compacted: revision,
    halted: undefined,
    table,
    writeIds: new WriteIds(),
    sizes: new HistorySizes(),
    sessions: new Map(),
  };
}

/** The record is switched last: until then the old epoch is the cluster's, and the adoption can be repeated. */
async function beginLog(
  connection: NatsConnection,
  {
    names,
    next,
    adopted,
    replicas,
  }: {
    readonly names: LogNames;
    readonly next: Lineage;
    readonly adopted: MachineState;
    readonly replicas: number;
  },
): Promise<void> {
  const before = await lastMessage(connection, names.baseStream, names.recordSubject);
  const { created } = await createStream(connection, logStreamConfig(names, next, replicas));
  const current = { lineage: next, stream: names.logStream(next), created };
  await takeSnapshot({ connection, names, current }, adopted, { dueAfterEntries: 0 });
  const record = { stream: names.baseStream, subject: names.recordSubject, data: encodeRecord(current) };
  const switched = await store(connection, { ...record, after: before?.sequence ?? 0 });
  if (switched === undefined) throw movedError();
}
