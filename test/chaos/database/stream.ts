import { type NatsConnection, NatsError, nanos, RetentionPolicy, StorageType, type StreamConfig } from 'nats';
import type { StoredMessage } from '../checkers/messages.ts';

const STREAM = 'numbers';
const COPIES = 3;
const ANSWER_MS = 2_000;
/** Longer than any run: a message that is published again must be known. */
const KNOWN_MS = 24 * 60 * 60_000;
const READ_AT_ONCE = 100;
const NOT_FOUND = '404';

const CONFIG: Partial<StreamConfig> & { readonly name: string } = {
  name: STREAM,
  subjects: [`${STREAM}.>`],
  num_replicas: COPIES,
  storage: StorageType.File,
  retention: RetentionPolicy.Limits,
  duplicate_window: nanos(KNOWN_MS),
};

export async function createStream(connection: NatsConnection): Promise<true> {
  const { streams } = await connection.jetstreamManager({ timeout: ANSWER_MS });
  await streams.add(CONFIG);
  return true;
}

/** The leader knows that both others have what it has. */
export async function isComplete(connection: NatsConnection): Promise<boolean> {
  const { streams } = await connection.jetstreamManager({ timeout: ANSWER_MS });
  const { leader = '', replicas = [] } = (await streams.info(STREAM)).cluster ?? {};
  const isEqual = replicas.every(({ current, offline }) => current && !offline);
  return leader !== '' && replicas.length === COPIES - 1 && isEqual;
}

/** Resolves with the place of the message in the stream. The same message again has the same place. */
export async function publish(connection: NatsConnection, message: string): Promise<number> {
  const options = { msgID: message, timeout: ANSWER_MS };
  return (await connection.jetstream().publish(`${STREAM}.all`, message, options)).seq;
}

/** All of it, as its leader has it. */
export async function readStream(connection: NatsConnection): Promise<readonly StoredMessage[]> {
  const { streams } = await connection.jetstreamManager({ timeout: ANSWER_MS });
  const { first_seq: first, last_seq: last } = (await streams.info(STREAM)).state;
  const readOne = async (sequence: number): Promise<readonly StoredMessage[]> => {
    const found = await streams.getMessage(STREAM, { seq: sequence }).catch(nothingFound);
    return found === undefined ? [] : [{ message: found.string(), sequence }];
  };
  const stored: StoredMessage[] = [];
  for (let from = first; from <= last; from += READ_AT_ONCE) {
    const sequences = Array.from({ length: Math.min(READ_AT_ONCE, last - from + 1) }, (_, index) => from + index);
    stored.push(...(await Promise.all(sequences.map(readOne))).flat());
  }
  return stored;
}

/** A place without a message: what was there is missing, and the checker says so. */
function nothingFound(error: unknown): undefined {
  if (error instanceof NatsError && error.code === NOT_FOUND) return undefined;
  throw error;
}
