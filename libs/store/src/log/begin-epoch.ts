import type { NatsConnection } from 'nats';
import type { ObjectTable } from '../internal/object-table.ts';
import type { Lineage, Revision } from '../port.ts';
import { HistorySizes } from './history-sizes.ts';
import { createStream, store } from './jetstream.ts';
import { encodeRecord, type LogNames, logStreamConfig } from './layout.ts';
import { takeSnapshot } from './snapshots.ts';
import type { MachineState } from './state-machine.ts';
import { WriteIds } from './write-ids.ts';

/** Objects without a history, at a revision above all of theirs. */
export function firstState(table: ObjectTable, revision: Revision): MachineState {
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
    forgottenAt: 0,
  };
}

/**
 * Creates a log that begins with this state, and makes it the cluster's. The record is written last, so an interrupted
 * attempt changes nothing and can be repeated. Resolves with false when the record is no longer the one at `after`.
 */
export async function beginEpoch(
  connection: NatsConnection,
  epoch: {
    readonly names: LogNames;
    readonly lineage: Lineage;
    readonly state: MachineState;
    readonly replicas: number;
    readonly after: number;
  },
): Promise<boolean> {
  const { names, lineage, state, replicas, after } = epoch;
  const { created } = await createStream(connection, logStreamConfig(names, lineage, replicas));
  const current = { lineage, stream: names.logStream(lineage), created };
  await takeSnapshot({ connection, names, current }, state, { dueAfterEntries: 0 });
  const record = { stream: names.baseStream, subject: names.recordSubject, data: encodeRecord(current) };
  return (await store(connection, { ...record, after })) !== undefined;
}
