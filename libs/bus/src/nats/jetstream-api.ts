import { CONSUMER_HEARTBEAT_MS, CONSUMER_INACTIVE_MS, STREAM_MAX_AGE_MS, STREAM_MAX_BYTES } from '../limits.ts';
import { BusUnavailable, OutOfPlace } from '../port.ts';
import { STREAM_SUBJECTS } from './wire.ts';

/** The name never changes because permissions contain it. The content belongs to the incarnation in the description. */
export const STREAM = 'K8S_EV';

const NANOSECONDS = 1_000_000;
const CONSUMER_NOT_FOUND = 10014;
const STREAM_NOT_FOUND = 10059;
const STREAM_EXISTS_DIFFERENTLY = 10058;
const WRONG_LAST_SEQUENCE = 10071;

/** Sends a request and resolves with the text of the reply. */
export type Request = (subject: string, body: string) => Promise<string>;

/** JetStream refused a request. */
export class JetStreamRefusal extends Error {
  override readonly name = 'JetStreamRefusal';
  readonly code: number;
  constructor(subject: string, code: number, description: string) {
    super(`JetStream refused ${subject}: ${description} (${code})`);
    this.code = code;
  }
}

export interface StreamState {
  readonly firstSequence: number;
  readonly lastSequence: number;
  readonly description: string;
  /** How it keeps messages; `undefined`: as the server does by default, also on one before 2.12. */
  readonly persistMode: string | undefined;
}

/** Resolves with `undefined` when the stream does not exist. */
export async function streamState(request: Request): Promise<StreamState | undefined> {
  try {
    const reply = record(await call(request, `STREAM.INFO.${STREAM}`, {}));
    const state = record(reply['state']);
    const { description, persist_mode: persistMode } = record(reply['config']);
    return {
      firstSequence: integer(state['first_seq']),
      lastSequence: integer(state['last_seq']),
      description: typeof description === 'string' ? description : '',
      persistMode: typeof persistMode === 'string' ? persistMode : undefined,
    };
  } catch (error) {
    if (error instanceof JetStreamRefusal && error.code === STREAM_NOT_FOUND) return undefined;
    throw error;
  }
}

/** Creates the stream, or updates an existing one to the wanted settings. Its mode is never changed: servers refuse that. */
export async function ensureStream(
  request: Request,
  description: string,
  existing?: Pick<StreamState, 'persistMode'>,
): Promise<void> {
  const config = streamConfig(description, existing === undefined ? UNSYNCED : existing.persistMode);
  try {
    await call(request, `STREAM.CREATE.${STREAM}`, config);
  } catch (error) {
    if (!(error instanceof JetStreamRefusal) || error.code !== STREAM_EXISTS_DIFFERENTLY) throw error;
    await call(request, `STREAM.UPDATE.${STREAM}`, config);
  }
}

export async function deleteStream(request: Request): Promise<void> {
  await call(request, `STREAM.DELETE.${STREAM}`, {});
}

/** Drops all messages. The next message gets `nextSequence`, which must be above the last one. */
export async function purgeStream(request: Request, nextSequence: number): Promise<void> {
  await call(request, `STREAM.PURGE.${STREAM}`, { seq: nextSequence });
}

/**
 * A server that holds the replicated log syncs each message of every other stream, too. These messages need no sync: what is
 * lost with the power is published again. Servers before 2.12 ignore the setting.
 */
const UNSYNCED = 'async';

function streamConfig(description: string, persistMode: string | undefined): object {
  return {
    name: STREAM,
    description,
    subjects: STREAM_SUBJECTS,
    retention: 'limits',
    storage: 'file',
    discard: 'old',
    num_replicas: 1,
    ...(persistMode === undefined ? {} : { persist_mode: persistMode }),
    max_age: STREAM_MAX_AGE_MS * NANOSECONDS,
    max_bytes: STREAM_MAX_BYTES,
    max_msgs: -1,
    max_consumers: -1,
    deny_delete: true,
  };
}

/**
 * Creates a push consumer without acknowledgements. It ends by itself when nobody listens on `inbox`. Resolves with the
 * sequence after which it delivers. That differs from the requested one when the stream starts later or ends earlier.
 */
export async function createConsumer(
  request: Request,
  consumer: {
    readonly name: string;
    readonly filter: string;
    readonly inbox: string;
    /** `undefined` delivers only new messages. */
    readonly after: number | undefined;
  },
): Promise<{ readonly after: number }> {
  const start =
    consumer.after === undefined
      ? { deliver_policy: 'new' }
      : { deliver_policy: 'by_start_sequence', opt_start_seq: consumer.after + 1 };
  const reply = await call(request, `CONSUMER.CREATE.${STREAM}.${consumer.name}.${consumer.filter}`, {
    stream_name: STREAM,
    config: {
      name: consumer.name,
      deliver_subject: consumer.inbox,
      filter_subject: consumer.filter,
      ...start,
      ack_policy: 'none',
      max_deliver: 1,
      flow_control: true,
      idle_heartbeat: CONSUMER_HEARTBEAT_MS * NANOSECONDS,
      inactive_threshold: CONSUMER_INACTIVE_MS * NANOSECONDS,
      replay_policy: 'instant',
      mem_storage: true,
      num_replicas: 1,
    },
  });
  return { after: integer(record(record(reply)['delivered'])['stream_seq']) };
}

/** Reports whether a consumer of this name exists and whether it has a listener. */
export async function consumerStanding(request: Request, name: string): Promise<'absent' | 'heard' | 'unheard'> {
  try {
    const reply = record(await call(request, `CONSUMER.INFO.${STREAM}.${name}`, {}));
    return reply['push_bound'] === true ? 'heard' : 'unheard';
  } catch (error) {
    if (error instanceof JetStreamRefusal && error.code === CONSUMER_NOT_FOUND) return 'absent';
    throw error;
  }
}

/** Succeeds when the consumer does not exist. */
export async function deleteConsumer(request: Request, name: string): Promise<void> {
  try {
    await call(request, `CONSUMER.DELETE.${STREAM}.${name}`, {});
  } catch (error) {
    if (!(error instanceof JetStreamRefusal) || error.code !== CONSUMER_NOT_FOUND) throw error;
  }
}

/** Returns the sequence in the acknowledgement of a publish. */
export function decodeAcknowledgement(reply: string): number {
  const answer = record(JSON.parse(reply));
  if (answer['error'] === undefined) return integer(answer['seq']);
  const { err_code: code, description } = record(answer['error']);
  const last = /wrong last sequence: (\d+)/.exec(String(description))?.[1];
  if (code === WRONG_LAST_SEQUENCE && last !== undefined) throw new OutOfPlace(Number(last));
  throw new BusUnavailable(`JetStream did not store the change: ${String(description)} (${String(code)})`);
}

async function call(request: Request, operation: string, body: object): Promise<unknown> {
  const subject = `$JS.API.${operation}`;
  const reply: unknown = JSON.parse(await request(subject, JSON.stringify(body)));
  const { error } = record(reply);
  if (error === undefined) return reply;
  const { err_code: code, description } = record(error);
  throw new JetStreamRefusal(subject, typeof code === 'number' ? code : 0, String(description));
}

function record(value: unknown): Readonly<Record<string, unknown>> {
  if (typeof value !== 'object' || value === null) throw new BusUnavailable('JetStream answered no object');
  return Object.fromEntries(Object.entries(value));
}

function integer(value: unknown): number {
  if (typeof value !== 'number') throw new BusUnavailable('JetStream answered no number');
  return value;
}
