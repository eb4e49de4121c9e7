import { InvariantViolation } from '@holdfast/platform';
import { headers, type NatsConnection } from 'nats';
import { LOG_CONSUMER_INACTIVE_MS, LOG_HEARTBEAT_MS, LOG_REQUEST_TIMEOUT_MS } from '../limits.ts';
import { StoreUnavailable } from '../port.ts';
import { integer, list, record, text } from './json.ts';

const NANOSECONDS = 1_000_000;
const STREAM_NOT_FOUND = 10059;
const MESSAGE_NOT_FOUND = 10037;
const WRONG_LAST_SEQUENCE = [10071, 10164];

/** JetStream refused a request. */
export class LogRefusal extends Error {
  override readonly name = 'LogRefusal';
  readonly code: number;
  constructor(subject: string, code: number, description: string) {
    super(`JetStream refused ${subject}: ${description} (${code})`);
    this.code = code;
  }
}

export interface StreamInfo {
  readonly created: string;
  readonly config: Readonly<Record<string, unknown>>;
  readonly firstSequence: number;
  readonly lastSequence: number;
  readonly bytes: number;
  /** Absent: a server without a cluster. */
  readonly cluster: Readonly<Record<string, unknown>> | undefined;
}

/** Resolves with `undefined` when the stream does not exist. */
export async function streamInfo(connection: NatsConnection, stream: string): Promise<StreamInfo | undefined> {
  try {
    return decodeInfo(await call(connection, `STREAM.INFO.${stream}`, {}));
  } catch (error) {
    if (error instanceof LogRefusal && error.code === STREAM_NOT_FOUND) return undefined;
    throw error;
  }
}

/** Names of the streams that take these subjects. */
export async function streamsWith(connection: NatsConnection, subject: string): Promise<readonly string[]> {
  const names: string[] = [];
  for (;;) {
    const page = record(await call(connection, 'STREAM.NAMES', { subject, offset: names.length }));
    const found = list(page['streams'] ?? []).map(text);
    names.push(...found);
    if (found.length === 0 || names.length >= integer(page['total'])) return names;
  }
}

/** Succeeds when the stream exists with this configuration already. */
export async function createStream(connection: NatsConnection, config: { readonly name: string }): Promise<StreamInfo> {
  return decodeInfo(await call(connection, `STREAM.CREATE.${config.name}`, config));
}

export async function deleteStream(connection: NatsConnection, stream: string): Promise<void> {
  await call(connection, `STREAM.DELETE.${stream}`, {});
}

/** Removes messages below a sequence, or those of one subject. */
export async function purge(
  connection: NatsConnection,
  stream: string,
  what: { readonly seq?: number; readonly filter?: string },
): Promise<void> {
  await call(connection, `STREAM.PURGE.${stream}`, what);
}

export async function lastMessage(
  connection: NatsConnection,
  stream: string,
  subject: string,
): Promise<{ readonly sequence: number; readonly data: Buffer } | undefined> {
  try {
    const reply = record(await call(connection, `STREAM.MSG.GET.${stream}`, { last_by_subj: subject }));
    const message = record(reply['message']);
    const { data } = message;
    return { sequence: integer(message['seq']), data: Buffer.from(typeof data === 'string' ? data : '', 'base64') };
  } catch (error) {
    if (error instanceof LogRefusal && error.code === MESSAGE_NOT_FOUND) return undefined;
    throw error;
  }
}

/**
 * Stores a message. Resolves with its sequence, or `undefined` when the last message of the subject is not the expected
 * one.
 */
export async function store(
  connection: NatsConnection,
  message: { readonly stream: string; readonly subject: string; readonly data: Uint8Array; readonly after?: number },
): Promise<number | undefined> {
  const headerSet = headers();
  headerSet.set('Nats-Expected-Stream', message.stream);
  if (message.after !== undefined) headerSet.set('Nats-Expected-Last-Subject-Sequence', String(message.after));
  const reply = await connection.request(message.subject, message.data, {
    timeout: LOG_REQUEST_TIMEOUT_MS,
    headers: headerSet,
  });
  const answer = record(JSON.parse(reply.string()));
  if (answer['error'] === undefined) return integer(answer['seq']);
  const { err_code: code, description } = record(answer['error']);
  if (WRONG_LAST_SEQUENCE.includes(Number(code))) return undefined;
  throw new LogRefusal(message.subject, Number(code), String(description));
}

/** A consumer that delivers everything from a sequence on to `inbox`, and ends when nobody listens there. */
export async function createConsumer(
  connection: NatsConnection,
  stream: string,
  { name, inbox, from }: { readonly name: string; readonly inbox: string; readonly from: number },
): Promise<void> {
  await call(connection, `CONSUMER.CREATE.${stream}.${name}`, {
    stream_name: stream,
    config: {
      name,
      deliver_subject: inbox,
      deliver_policy: 'by_start_sequence',
      opt_start_seq: from,
      ack_policy: 'none',
      max_deliver: 1,
      flow_control: true,
      idle_heartbeat: LOG_HEARTBEAT_MS * NANOSECONDS,
      inactive_threshold: LOG_CONSUMER_INACTIVE_MS * NANOSECONDS,
      replay_policy: 'instant',
      mem_storage: true,
      num_replicas: 1,
    },
  });
}

/** What the server answered to a stored entry; throws `LogRefusal` when it did not store it. */
export function decodeAcknowledgement(reply: string): { readonly stream: string; readonly sequence: number } {
  const answer = record(JSON.parse(reply));
  if (answer['error'] === undefined) return { stream: text(answer['stream']), sequence: integer(answer['seq']) };
  const { err_code: code, description } = record(answer['error']);
  throw new LogRefusal('the entry', Number(code), String(description));
}

async function call(connection: NatsConnection, operation: string, body: object): Promise<unknown> {
  const subject = `$JS.API.${operation}`;
  const message = await connection.request(subject, JSON.stringify(body), { timeout: LOG_REQUEST_TIMEOUT_MS });
  const reply: unknown = JSON.parse(message.string());
  const { error } = record(reply);
  if (error === undefined) return reply;
  const { err_code: code, description } = record(error);
  throw new LogRefusal(subject, typeof code === 'number' ? code : 0, String(description));
}

function decodeInfo(reply: unknown): StreamInfo {
  try {
    const info = record(reply);
    const state = record(info['state']);
    return {
      created: text(info['created']),
      config: record(info['config']),
      firstSequence: integer(state['first_seq']),
      lastSequence: integer(state['last_seq']),
      bytes: integer(state['bytes']),
      cluster: info['cluster'] === undefined ? undefined : record(info['cluster']),
    };
  } catch (error) {
    if (error instanceof InvariantViolation) throw new StoreUnavailable('JetStream gave an answer of another form');
    throw error;
  }
}
