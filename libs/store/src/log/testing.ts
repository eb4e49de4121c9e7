import { strict as assert } from 'node:assert';
import { createIds, createSilentLog, createSystemRandom, type Log } from '@holdfast/platform';
import { createVirtualClock } from '@holdfast/platform/testing';
import type { MsgHdrs, NatsConnection } from 'nats';
import { create, pod } from '../contract/support.ts';
import { LOG_TICK_MS } from '../limits.ts';
import type { LoggedWrite } from './entry.ts';
import { integer, record, text } from './json.ts';
import { encodeRecord, logNames } from './layout.ts';
import { LogReplica } from './log-replica.ts';
import type { LogStoreOptions } from './log-store.ts';
import { takeSnapshot } from './snapshots.ts';
import { StateMachine } from './state-machine.ts';

const names = logNames();
const lineage = { incarnation: '0123456789', epoch: 1 };
const STREAM = names.logStream(lineage);
const CREATED = '2026-01-01T00:00:00Z';
const MESSAGE_MAX_BYTES = 1024 * 1024;
const TICKS_MAX = 10_000;
const PLACE_TOKENS = '0.0';

type Callback = (error: Error | null, msg: object) => void;
type Answer = Readonly<Record<string, unknown>>;

const refusal = (code: number): Answer => ({ error: { err_code: code, description: 'refused' } });

/** The streams of a log in memory, as all servers have them. */
export class LogServers {
  readonly clock = createVirtualClock();
  readonly entries = new Map<number, Buffer>();
  /** Also what was dropped. */
  readonly #history: Buffer[] = [];
  readonly #base = new Map<string, { readonly sequence: number; readonly data: Buffer }>();
  readonly #connections = new Set<ServedConnection>();
  first = 1;
  last = 0;
  #baseLast = 0;
  /** What a request waits for before it is answered; rejects: it is not answered. */
  beforeRequest: (subject: string, body: string) => Promise<void> = async () => undefined;
  /** False: entries are lost on the way. */
  takesEntries: () => boolean = () => true;
  /** False: entries are stored, and nobody says so. */
  acknowledges = true;
  readonly #away = new Set<LogReplica>();

  constructor() {
    const current = { lineage, stream: STREAM, created: CREATED };
    this.put(names.recordSubject, encodeRecord(current));
  }

  /** Opens a replica on a connection of its own. */
  async open(options: Partial<LogStoreOptions> = {}): Promise<LogReplica> {
    const machine = { clock: this.clock, ids: createIds(createSystemRandom()), log: createSilentLog() };
    let replica: LogReplica | undefined;
    const dial = async (): Promise<NatsConnection> => {
      if (replica !== undefined && this.#away.has(replica)) throw new Error('refused');
      return this.dial();
    };
    replica = await this.settle(LogReplica.open({ servers: ['nats://a'], ...machine, ...options }, dial));
    await this.settle(replica.catchUp());
    return replica;
  }

  async dial(): Promise<NatsConnection> {
    const connection = new ServedConnection(this);
    this.#connections.add(connection);
    // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- nothing else of it is used
    return connection as unknown as NatsConnection;
  }

  /** Cuts a replica off. Returns what ends the cut. */
  cut(replica: LogReplica): () => void {
    this.#away.add(replica);
    void replica.connection?.close();
    return () => void this.#away.delete(replica);
  }

  /** Lets time pass until the promise has an outcome. */
  async settle<T>(promise: Promise<T>): Promise<T> {
    let isSettled = false;
    const settled = (): void => void (isSettled = true);
    promise.then(settled, settled);
    await this.until(() => isSettled, 'an outcome');
    return promise;
  }

  async until(condition: () => boolean, what: string): Promise<void> {
    for (let tick = 0; tick < TICKS_MAX; tick++) {
      if (condition()) return;
      await this.clock.advance(LOG_TICK_MS);
    }
    assert.fail(`never: ${what}`);
  }

  append(data: Buffer): number {
    this.last += 1;
    this.entries.set(this.last, data);
    this.#history.push(data);
    for (const connection of this.#connections) connection.deliver();
    return this.last;
  }

  /** Loses what was stored last. */
  lose(count: number): void {
    this.#history.splice(-count);
    for (const end = this.last - count; this.last > end; this.last--) this.entries.delete(this.last);
  }

  put(subject: string, data: Buffer): number {
    this.#baseLast += 1;
    this.#base.set(subject, { sequence: this.#baseLast, data });
    return this.#baseLast;
  }

  /** Takes a snapshot of the state at an entry; the log is dropped up to the snapshot before. */
  async snapshotAt(position: number): Promise<void> {
    const machine = new StateMachine();
    for (const [index, data] of this.#history.slice(0, position).entries()) machine.apply(index + 1, data);
    const current = { lineage, stream: STREAM, created: CREATED };
    const connection = await this.dial();
    await takeSnapshot({ connection, names, current }, machine.state, { dueAfterEntries: 0 });
  }

  answer(subject: string, body: Uint8Array, headers: MsgHdrs | undefined): Answer {
    if (subject === names.logSubject(lineage)) return { stream: STREAM, seq: this.append(Buffer.from(body)) };
    if (!subject.startsWith('$JS.API.')) return this.#store(subject, Buffer.from(body), headers);
    const [, , kind, operation] = subject.split('.');
    const asked = record(JSON.parse(Buffer.from(body).toString()));
    if (operation === 'MSG') return this.#message(text(asked['last_by_subj']));
    if (operation === 'PURGE') this.#purge(subject.endsWith(STREAM), asked);
    const [first, last] = subject.endsWith(STREAM) ? [this.first, this.last] : [1, this.#baseLast];
    return kind === 'CONSUMER'
      ? {}
      : { created: CREATED, config: {}, state: { first_seq: first, last_seq: last, bytes: 0 } };
  }

  #store(subject: string, data: Buffer, headers: MsgHdrs | undefined): Answer {
    const after = headers?.get('Nats-Expected-Last-Subject-Sequence') ?? '';
    if (after !== '' && Number(after) !== (this.#base.get(subject)?.sequence ?? 0)) return refusal(10071);
    return { seq: this.put(subject, data) };
  }

  #message(subject: string): Answer {
    const found = this.#base.get(subject);
    if (found === undefined) return refusal(10037);
    return { message: { seq: found.sequence, data: found.data.toString('base64') } };
  }

  #purge(isLog: boolean, asked: Answer): void {
    const before = integer(asked['seq'] ?? 0);
    if (isLog) {
      this.first = Math.max(this.first, before);
      for (const sequence of this.entries.keys()) if (sequence < before) this.entries.delete(sequence);
      return;
    }
    for (const [subject, { sequence }] of this.#base)
      if (subject.includes('.parts.') && sequence < before) this.#base.delete(subject);
  }
}

interface Consumer {
  readonly inbox: string;
  delivered: number;
  next: number;
}

/** A connection to one of the servers, as far as a replica uses it. */
class ServedConnection {
  readonly info = { version: '2.15.1', max_payload: MESSAGE_MAX_BYTES };
  readonly #servers: LogServers;
  readonly #callbacks = new Map<string, Callback>();
  readonly #consumers: Consumer[] = [];
  readonly #end = Promise.withResolvers<void>();
  #isClosed = false;

  constructor(servers: LogServers) {
    this.#servers = servers;
  }

  isClosed = (): boolean => this.#isClosed;
  getServer = (): string => 'a';
  closed = (): Promise<void> => this.#end.promise;

  async close(): Promise<void> {
    this.#isClosed = true;
    this.#end.resolve();
  }

  subscribe(subject: string, { callback }: { readonly callback: Callback }): { unsubscribe(): void } {
    this.#callbacks.set(subject, callback);
    return { unsubscribe: () => void this.#callbacks.delete(subject) };
  }

  publish(subject: string, payload: Uint8Array, options?: { readonly reply?: string }): void {
    if (this.#isClosed || !this.#servers.takesEntries()) return;
    const answer = JSON.stringify(this.#servers.answer(subject, payload, undefined));
    if (!this.#servers.acknowledges) return;
    const reply = options?.reply ?? '';
    const inbox = `${reply.slice(0, reply.lastIndexOf('.'))}.*`;
    this.#callbacks.get(inbox)?.(null, { subject: reply, string: () => answer });
  }

  async request(
    subject: string,
    body: Uint8Array | string,
    { headers }: { readonly headers?: MsgHdrs } = {},
  ): Promise<{ string(): string }> {
    await this.#servers.beforeRequest(subject, body.toString());
    if (this.#isClosed) throw new Error('the connection is closed');
    const answer = this.#servers.answer(subject, Buffer.from(body), headers);
    if (subject.startsWith('$JS.API.CONSUMER.CREATE.')) this.#consume(record(JSON.parse(body.toString())));
    return { string: () => JSON.stringify(answer) };
  }

  #consume(asked: Answer): void {
    const config = record(asked['config']);
    this.#consumers.push({
      inbox: text(config['deliver_subject']),
      delivered: 0,
      next: integer(config['opt_start_seq']),
    });
    this.deliver();
  }

  /** An answer to who asked for a consumer comes before its first message. */
  deliver(): void {
    queueMicrotask(() => {
      for (const consumer of this.#consumers) this.#deliverTo(consumer);
    });
  }

  #deliverTo(consumer: Consumer): void {
    const { entries, first, last } = this.#servers;
    for (consumer.next = Math.max(consumer.next, first); consumer.next <= last; consumer.next++) {
      const data = entries.get(consumer.next);
      if (data === undefined || this.#isClosed) continue;
      consumer.delivered += 1;
      const reply = `$JS.ACK.${STREAM}.C.1.${consumer.next}.${consumer.delivered}.${PLACE_TOKENS}`;
      this.#callbacks.get(consumer.inbox)?.(null, { reply, data });
    }
  }
}

export const write = (name: string, value?: string): LoggedWrite => ({
  id: name,
  room: 'ordinary',
  operations: [create(pod(name), value)],
});

/** Writes objects of these names, each as an entry of its own. */
export async function writeEach(
  servers: LogServers,
  replica: LogReplica,
  names: readonly string[],
  value?: string,
): Promise<void> {
  for (const name of names) await servers.settle(replica.write(write(name, value)));
}

/** A log of messages that are warnings. */
export function noteWarnings(): { readonly log: Log; readonly warnings: readonly string[] } {
  const warnings: string[] = [];
  return { log: { ...createSilentLog(), warn: (message: string) => void warnings.push(message) }, warnings };
}
