import { type Clock, describeError, type Ids, invariant, RecentMap, unreachable } from '@holdfast/platform';
import type { Redis } from 'ioredis';
import { assertBatch } from '../internal/operations.ts';
import { ceilingOf } from '../internal/room.ts';
import {
  REDIS_ATTEMPT_VALID_MS,
  REDIS_CHARACTERS_TOGETHER,
  REDIS_LEFT_OPEN_MAX,
  REDIS_RETRY_DELAY_MS,
  REDIS_WRITE_ID_BUCKET_MS,
  REDIS_WRITES_IN_FLIGHT,
  REDIS_WRITES_TOGETHER,
} from '../limits.ts';
import {
  OutcomeUnknown,
  StoreFull,
  type StoreLimits,
  StoreUnavailable,
  type WriteOperation,
  type WriteOptions,
  type WriteResult,
  type WriteRoom,
} from '../port.ts';
import { callScript, isServerError, leaveNow, NotExecuted, withPacket } from './call.ts';
import { checksumOf } from './checksum.ts';
import { HISTORY_KEY, indexKey, META_KEY, objectHashKey, splitKey, writeIdsKey } from './layout.ts';
import type { Link } from './link.ts';
import { type CommitReply, decodeCommits, type StoreSize } from './replies.ts';
import { COMMIT } from './scripts.ts';
import type { ServerTime, Standing } from './standing.ts';

export interface WritePathOptions {
  readonly link: Link;
  readonly standing: Standing;
  readonly serverTime: ServerTime;
  readonly clock: Clock;
  readonly ids: Ids;
  readonly writeDeadlineMs: number;
  readonly limits: StoreLimits | undefined;
  /** Called after each script of writes with the size, and whether one of the writes found no room. */
  readonly onSize: (size: StoreSize, isRefusing: boolean) => void;
}

/** The result of one attempt. Only `answered` and `notExecuted` say something about the server's state. */
type Attempt =
  | { readonly kind: 'answered'; readonly result: WriteResult | StoreFull }
  | { readonly kind: 'notExecuted'; readonly reason: string; readonly cause?: unknown }
  | { readonly kind: 'lost'; readonly cause: unknown };

interface Write {
  readonly writeId: string;
  /** Generated for this write: all its attempts use the same bucket. */
  readonly isOwnId: boolean;
  /** An earlier call of this process had no answer. This one continues where that one ended. */
  readonly isRepeated: boolean;
  readonly operations: readonly WriteOperation[];
  readonly room: WriteRoom;
  /** Fixed for all attempts, so that each looks where the others have recorded their answer. */
  readonly bucket: number;
  readonly deadline: number;
  attempts: number;
  readonly characters: number;
  /** True once an attempt may have reached the server. From then on only an answer is definite. */
  possiblyExecuted: boolean;
}

type Answered = Extract<CommitReply, { readonly kind: 'answered' }>;

/** Attempts in one script. */
interface Batch {
  readonly redis: Redis;
  readonly bucket: number;
  readonly writes: Write[];
  readonly replies: Promise<readonly CommitReply[]>;
  characters: number;
}

/** Sends attempts of a write until one has a definite answer or the deadline has passed. */
export class WritePath {
  readonly #options: WritePathOptions;
  readonly #ownIds: string;
  #inFlight = 0;
  #written = 0;
  #batch: Batch | undefined;
  #bucket = 0;
  /**
   * Writes without an answer, and their buckets: a packet of such a write may still be in flight when it is repeated.
   */
  readonly #leftOpen = new RecentMap<string, number>(REDIS_LEFT_OPEN_MAX);

  constructor(options: WritePathOptions) {
    this.#options = options;
    this.#ownIds = options.ids.uuid();
  }

  async write(operations: readonly WriteOperation[], options: WriteOptions): Promise<WriteResult> {
    assertBatch(operations);
    this.#options.standing.assertServing();
    if (this.#inFlight >= REDIS_WRITES_IN_FLIGHT) throw new StoreUnavailable('too many writes are in flight');
    this.#inFlight += 1;
    const write = this.#newWrite(operations, options);
    try {
      return await this.#resolve(write);
    } catch (error) {
      if (error instanceof OutcomeUnknown) this.#leftOpen.set(write.writeId, write.bucket);
      throw error;
    } finally {
      this.#inFlight -= 1;
    }
  }

  #newWrite(operations: readonly WriteOperation[], { writeId: givenId, room = 'ordinary' }: WriteOptions): Write {
    const { serverTime, clock, writeDeadlineMs } = this.#options;
    this.#bucket = Math.max(this.#bucket, Math.floor(serverTime.now() / REDIS_WRITE_ID_BUCKET_MS));
    const deadline = clock.monotonic() + writeDeadlineMs;
    const characters = operations.reduce((sum, { value }) => sum + value.length, 0);
    const openBucket = givenId === undefined ? undefined : this.#leftOpen.get(givenId);
    return {
      writeId: givenId ?? `${this.#ownIds}.${this.#written++}`,
      isOwnId: givenId === undefined,
      operations,
      room,
      bucket: openBucket ?? this.#bucket,
      deadline,
      characters,
      attempts: 0,
      isRepeated: openBucket !== undefined,
      possiblyExecuted: openBucket !== undefined,
    };
  }

  async #resolve(write: Write): Promise<WriteResult> {
    for (;;) {
      const attempt = await this.#attempt(write);
      switch (attempt.kind) {
        case 'answered':
          if (attempt.result instanceof StoreFull) throw attempt.result;
          return attempt.result;
        case 'notExecuted':
          if (!write.possiblyExecuted) throw new StoreUnavailable(attempt.reason, { cause: attempt.cause });
          await this.#pause(write, attempt.cause);
          break;
        case 'lost':
          write.possiblyExecuted = true;
          await this.#awaitLink(write, attempt.cause);
          break;
        default:
          unreachable(attempt);
      }
    }
  }

  async #attempt(write: Write): Promise<Attempt> {
    const { link, standing } = this.#options;
    const [complaint] = standing.complaints;
    if (complaint !== undefined) return { kind: 'notExecuted', reason: complaint };
    const redis = link.current;
    if (redis === undefined) {
      return { kind: 'notExecuted', reason: `no connection to the store: ${describeError(link.lastError)}` };
    }
    const knownBefore = standing.highest;
    write.attempts += 1;
    try {
      const reply = await this.#send(redis, write);
      switch (reply.kind) {
        case 'answered':
          this.#observe(write, reply, knownBefore);
          return reply;
        case 'unavailable':
          standing.changeState(reply.state);
          return { kind: 'notExecuted', reason: `the store's state is ${reply.state}` };
        case 'otherEpoch':
          standing.halt('the store was repaired since this process started: restart it');
          return { kind: 'notExecuted', reason: `the store is at epoch ${reply.epoch}` };
        case 'expired':
          this.#options.serverTime.sample(reply.serverTimeMs);
          return { kind: 'notExecuted', reason: 'the write reached the store too late' };
        default:
          return unreachable(reply);
      }
    } catch (error) {
      return this.#failed(redis, error);
    }
  }

  /**
   * One script carries the writes of one turn of the event loop, because most of the cost of a write is per command.
   */
  async #send(redis: Redis, write: Write): Promise<CommitReply> {
    const batch = this.#batchFor(redis, write);
    this.#batch = batch;
    const at = batch.writes.push(write) - 1;
    batch.characters += write.characters;
    if (batch.writes.length === REDIS_WRITES_TOGETHER) leaveNow(redis);
    const reply = (await batch.replies)[at];
    invariant(reply !== undefined, 'every write of a batch is answered', { at });
    return reply;
  }

  #batchFor(redis: Redis, { bucket, characters }: Write): Batch {
    const open = this.#batch;
    const fits =
      open !== undefined &&
      open.redis === redis &&
      open.bucket === bucket &&
      open.writes.length < REDIS_WRITES_TOGETHER &&
      open.characters + characters <= REDIS_CHARACTERS_TOGETHER;
    return fits ? open : this.#newBatch(redis, bucket);
  }

  #newBatch(redis: Redis, bucket: number): Batch {
    const writes: Write[] = [];
    const send = async (): Promise<readonly CommitReply[]> => {
      if (this.#batch?.writes === writes) this.#batch = undefined;
      const { replies, size } = decodeCommits(await callScript(redis, this.#call(bucket, writes)), writes.length);
      if (size !== undefined) this.#options.onSize(size, replies.some(isFull));
      return replies;
    };
    return { redis, bucket, writes, replies: withPacket(redis, send), characters: 0 };
  }

  #failed(redis: Redis, error: unknown): Attempt {
    const { link, standing } = this.#options;
    if (error instanceof NotExecuted) return { kind: 'notExecuted', reason: error.message, cause: error };
    if (isServerError(error)) standing.halt(`the write script failed: ${error.message}`);
    link.drop(redis, error);
    return { kind: 'lost', cause: error };
  }

  /** A new write is above everything that this process knew when it sent the write; a repeated answer need not be. */
  #observe({ writeId }: Write, { result, repeated }: Answered, knownBefore: number): void {
    if (result instanceof StoreFull || result.outcome !== 'committed') return;
    const { standing } = this.#options;
    standing.observe(result.firstRevision, repeated ? 0 : knownBefore + 1);
    standing.observe(result.lastRevision, 0);
    for (let revision = result.firstRevision; revision <= result.lastRevision; revision++) {
      standing.witness({ revision, writeId });
    }
  }

  async #awaitLink(write: Write, cause: unknown): Promise<void> {
    const remaining = this.#remaining(write, cause);
    const redis = await this.#options.link.ready(remaining);
    if (redis === undefined) this.#remaining(write, cause);
    if (this.#options.standing.closed) throw new OutcomeUnknown(write.writeId, { cause });
  }

  async #pause(write: Write, cause: unknown): Promise<void> {
    await this.#options.clock.sleep(Math.min(REDIS_RETRY_DELAY_MS, this.#remaining(write, cause)));
    await this.#awaitLink(write, cause);
  }

  #remaining(write: Write, cause: unknown): number {
    const remaining = write.deadline - this.#options.clock.monotonic();
    if (remaining <= 0) throw new OutcomeUnknown(write.writeId, { cause });
    return remaining;
  }

  #call(bucket: number, writes: readonly Write[]) {
    const { standing, serverTime, limits } = this.#options;
    const mostFor = (room: WriteRoom): number => (limits === undefined ? 0 : ceilingOf(limits, room));
    const keys = [META_KEY, HISTORY_KEY, writeIdsKey(bucket), writeIdsKey(bucket - 1)];
    const validUntil = serverTime.now() + REDIS_ATTEMPT_VALID_MS;
    const parameters: (string | number)[] = [standing.epoch, validUntil, writes.length, mostFor('releasing')];
    for (const write of writes) {
      parameters.push(write.writeId, attemptOf(write), write.operations.length, mostFor(write.room));
      for (const operation of write.operations) {
        const { resource, member } = splitKey(operation.key);
        keys.push(objectHashKey(operation.key), indexKey(resource));
        const expected = operation.kind === 'create' ? '' : operation.expectedRevision;
        const { kind, key, value } = operation;
        parameters.push(OPERATION_CODES[kind], expected, value, key, member, checksumOf(key, value));
      }
    }
    return { script: COMMIT, keys, arguments: parameters };
  }
}

const isFull = (reply: CommitReply): boolean => reply.kind === 'answered' && reply.result instanceof StoreFull;

function attemptOf({ isOwnId, isRepeated, attempts }: Write): 'only' | 'first' | 'again' {
  if (attempts > 1 || isRepeated) return 'again';
  return isOwnId ? 'only' : 'first';
}

const OPERATION_CODES = { create: 'c', update: 'u', delete: 'd' } as const satisfies Record<
  WriteOperation['kind'],
  string
>;
