import type { Ids } from '@holdfast/platform';
import { ErrorCode, type NatsConnection, NatsError } from 'nats';
import { createStream, deleteStream, LogRefusal, lastMessage, store, streamInfo, streamsWith } from './jetstream.ts';
import {
  baseStreamConfig,
  type CurrentLog,
  decodeRecord,
  encodeRecord,
  isFirstEpoch,
  type LogNames,
  logStreamConfig,
} from './layout.ts';
import { foreignError, lostLogError, lostRecordError, noJetStreamError, replicasError } from './open-errors.ts';

const EXISTS_DIFFERENTLY = [10058, 10065];
const TOO_FEW_SERVERS = [10005, 10074];

/**
 * Finds the cluster's log, or creates one where nothing is. A record without its log, or a log without the record, means
 * that JetStream lost the other one: then nothing is created in its place.
 */
export async function openLog(
  connection: NatsConnection,
  { names, replicas, ids }: { readonly names: LogNames; readonly replicas: number; readonly ids: Ids },
): Promise<CurrentLog> {
  await explainUnfit(replicas, () => assertRecordNotLost(connection, names));
  await prepareBase(connection, { names, replicas });
  const found = await readCurrent(connection, names);
  if (found === undefined) return createLog(connection, { names, replicas, ids });
  if ((await streamInfo(connection, found.stream)) === undefined) throw lostLogError(found.stream);
  return found;
}

/** Makes sure that there is a place for the record and for snapshots. */
export async function prepareBase(
  connection: NatsConnection,
  { names, replicas }: { readonly names: LogNames; readonly replicas: number },
): Promise<void> {
  await explainUnfit(replicas, () => createUnlessThere(connection, baseStreamConfig(names, replicas)));
}

async function explainUnfit(replicas: number, ask: () => Promise<void>): Promise<void> {
  try {
    await ask();
  } catch (error) {
    if (error instanceof NatsError && error.code === ErrorCode.NoResponders) throw noJetStreamError(error);
    if (error instanceof LogRefusal && TOO_FEW_SERVERS.includes(error.code)) throw replicasError(replicas, error);
    throw error;
  }
}

/** The base stream is not there to be asked, or has no record. */
async function hasNoRecord(connection: NatsConnection, names: LogNames): Promise<boolean> {
  if ((await streamInfo(connection, names.baseStream)) === undefined) return true;
  return (await readCurrent(connection, names)) === undefined;
}

async function assertRecordNotLost(connection: NatsConnection, names: LogNames): Promise<void> {
  if (!(await hasNoRecord(connection, names))) return;
  const log = await findBegunLog(connection, names);
  // A record is stored before the first entry of its log: another process may have done both meanwhile.
  if (log !== undefined && (await hasNoRecord(connection, names))) throw lostRecordError(log, names.baseStream);
}

/** An empty log of the first epoch is what another process creates right now, or left when it was interrupted. */
async function findBegunLog(connection: NatsConnection, names: LogNames): Promise<string | undefined> {
  for (const stream of await streamsWith(connection, names.logSubjects)) {
    const info = await streamInfo(connection, stream);
    if (info !== undefined && (info.lastSequence > 0 || !isFirstEpoch(stream))) return stream;
  }
  return undefined;
}

export async function readCurrent(connection: NatsConnection, names: LogNames): Promise<CurrentLog | undefined> {
  const message = await lastMessage(connection, names.baseStream, names.recordSubject);
  if (message === undefined) return undefined;
  const current = decodeRecord(message.data);
  if (current === undefined) throw foreignError(names.baseStream);
  return current;
}

/** Of several processes that start at once, the first one's log is the cluster's. */
async function createLog(
  connection: NatsConnection,
  { names, replicas, ids }: { readonly names: LogNames; readonly replicas: number; readonly ids: Ids },
): Promise<CurrentLog> {
  const lineage = { incarnation: ids.uuid(), epoch: 1 };
  const { created } = await createStream(connection, logStreamConfig(names, lineage, replicas));
  const own: CurrentLog = { lineage, stream: names.logStream(lineage), created };
  const message = { stream: names.baseStream, subject: names.recordSubject, data: encodeRecord(own), after: 0 };
  if ((await store(connection, message)) !== undefined) return own;
  const others = await readCurrent(connection, names);
  if (others === undefined) throw foreignError(names.baseStream);
  if (others.stream !== own.stream) await deleteStream(connection, own.stream);
  return others;
}

/** An existing stream with other settings stays as it is: what is wrong with it is found by the check of guarantees. */
async function createUnlessThere(connection: NatsConnection, config: { readonly name: string }): Promise<void> {
  try {
    await createStream(connection, config);
  } catch (error) {
    if (error instanceof LogRefusal && EXISTS_DIFFERENTLY.includes(error.code)) return;
    throw error;
  }
}
