import { invariant, nextTurn } from '@holdfast/platform';
import type { Redis } from 'ioredis';
import { objectAfter } from '../internal/operations.ts';
import { FEED_BATCH_CHANGES, REDIS_GETS_TOGETHER, REDIS_LIST_ATTEMPTS, REDIS_LIST_PAGE_OBJECTS } from '../limits.ts';
import {
  type Change,
  Compacted,
  type ListOptions,
  type ListPage,
  type Revision,
  type StoredObject,
  type StoreKey,
  StoreUnavailable,
} from '../port.ts';
import { callScript, isServerError, NotExecuted, type ScriptCall, withPacket } from './call.ts';
import { DamagedValue } from './checksum.ts';
import {
  HISTORY_KEY,
  INDEX_KEY_PREFIX,
  indexKey,
  META_KEY,
  OBJECT_KEY_PREFIX,
  objectHashKey,
  splitKey,
} from './layout.ts';
import type { Link } from './link.ts';
import { decodeEntry, decodeGet, decodePage, type HistoryEntry, number } from './replies.ts';
import { GET, PAGE } from './scripts.ts';
import { type Standing, unavailable } from './standing.ts';

/** Sorts after every character that a key can contain. */
const LAST_CHARACTER = '\u{10FFFF}';
const SCAN_COUNT = 10_000;

/** The part of one resource's index that a list covers, as bounds of ZRANGEBYLEX. */
interface Section {
  readonly resource: string;
  readonly lower: string;
  readonly upper: string;
}

/** Pages of a list from different moments, not yet at one revision. */
interface Gathered {
  readonly objects: Map<StoreKey, StoredObject>;
  readonly firstRevision: Revision;
  readonly lastRevision: Revision;
  /** The last key examined when the limit cut the list; `undefined` when the list is complete. */
  readonly cutAfter: StoreKey | undefined;
}

interface Found {
  readonly revision: Revision;
  readonly object: StoredObject | undefined;
}

/** Keys that are read together, and the results in the same order. */
interface Gets {
  readonly keys: StoreKey[];
  readonly answers: Promise<{ readonly revision: Revision; readonly objects: readonly (StoredObject | undefined)[] }>;
}

/**
 * Reads. Every answer is linearizable: there is one server, and it replies after the fsync of everything in the reply.
 */
export class ReadPath {
  readonly #link: Link;
  readonly #standing: Standing;
  #nextGets: Gets | undefined;
  #nextRevision: Promise<Revision> | undefined;
  #askedRevision: Promise<unknown> = Promise.resolve();

  constructor(options: { readonly link: Link; readonly standing: Standing }) {
    this.#link = options.link;
    this.#standing = options.standing;
  }

  /**
   * One script reads all objects requested in one turn of the event loop, because most of the cost of a read is per
   * command.
   */
  async get(key: StoreKey): Promise<Found> {
    this.#nextGets ??= this.#gatherGets();
    const { keys, answers } = this.#nextGets;
    const at = keys.push(key) - 1;
    if (keys.length === REDIS_GETS_TOGETHER) this.#nextGets = undefined;
    const { revision, objects } = await answers;
    return { revision, object: objects[at] };
  }

  #gatherGets(): Gets {
    const keys: StoreKey[] = [];
    const close = (): void => {
      if (this.#nextGets?.keys === keys) this.#nextGets = undefined;
    };
    const answers = this.#observed(async (redis) => {
      const send = (): Promise<unknown> => {
        close();
        return callScript(redis, { script: GET, keys: [META_KEY, ...keys.map(objectHashKey)], arguments: [] });
      };
      return decodeGet(keys, await withPacket(redis, send));
    });
    answers.catch(close);
    return { keys, answers };
  }

  /**
   * One request at a time. Calls that begin meanwhile share the next request, which is sent after all of them began.
   */
  revision(): Promise<Revision> {
    this.#nextRevision ??= this.#askNext();
    return this.#nextRevision;
  }

  async #askNext(): Promise<Revision> {
    await Promise.allSettled([nextTurn(), this.#askedRevision]);
    this.#nextRevision = undefined;
    const answer = this.#readRevision();
    this.#askedRevision = answer;
    return answer;
  }

  async #readRevision(): Promise<Revision> {
    const { revision } = await this.#observed(async (redis) => {
      const [state, revision] = await redis.hmget(META_KEY, 'state', 'rev');
      return { state: state ?? 'absent', revision: number(revision ?? '0') };
    });
    return revision;
  }

  async compacted(): Promise<Revision> {
    return this.#run(async (redis) => number((await redis.hget(META_KEY, 'compact')) ?? '0'));
  }

  /**
   * Returns up to `count` changes after `after` from the server's history. Throws `Compacted` when they are dropped.
   */
  async history(after: Revision, count: number): Promise<HistoryEntry[]> {
    const entries = await this.#run(async (redis) => {
      const found = await redis.xrange(HISTORY_KEY, `(${after}-0`, '+', 'COUNT', count);
      return found.map(([id, fields]) => decodeEntry(id, fields));
    });
    // This read must come after the entries: if the mark moved past `after` earlier, some entries may have been
    // trimmed.
    const compacted = await this.compacted();
    if (after < compacted) throw new Compacted(compacted);
    return entries;
  }

  async list(prefix: string, options: ListOptions = {}): Promise<ListPage> {
    const { limit = Number.POSITIVE_INFINITY, after } = options;
    invariant(limit > 0, 'a list limit is positive', { limit });
    for (let attempt = 1; attempt <= REDIS_LIST_ATTEMPTS; attempt++) {
      const page = await this.#tryList(prefix, after, limit);
      if (page !== undefined) return page;
    }
    throw new StoreUnavailable('the history was compacted faster than a list could be read');
  }

  async #tryList(prefix: string, after: StoreKey | undefined, limit: number): Promise<ListPage | undefined> {
    const gathered = await this.#gather(await this.#sections(prefix, after), limit);
    try {
      await this.#settle(gathered, (key) => isCovered(key, { prefix, after, cutAfter: gathered.cutAfter }));
    } catch (error) {
      if (error instanceof Compacted) return undefined;
      throw error;
    }
    const sorted = [...gathered.objects.values()].toSorted((a, b) => (a.key < b.key ? -1 : 1));
    const more = gathered.cutAfter !== undefined || sorted.length > limit;
    if (sorted.length === 0 && more) return undefined;
    return { objects: sorted.slice(0, limit), revision: gathered.lastRevision, more };
  }

  /**
   * Returns the sections of the indexes below `prefix`. A prefix shorter than a resource reads the list of indexes from
   * the server.
   */
  async #sections(prefix: string, after: StoreKey | undefined): Promise<{ sections: Section[]; since: Revision }> {
    const slashes = prefix.split('/').length - 1;
    const { resource, member } = splitKey(prefix);
    if (slashes >= 2) return { sections: [sectionOf(resource, member, after)], since: Number.POSITIVE_INFINITY };
    const since = await this.revision();
    const names = await this.#run(scanIndexes);
    const wanted = names.filter((name) => `${name}/`.startsWith(prefix)).toSorted(byResource);
    return { sections: wanted.map((name) => sectionOf(name, '', after)), since };
  }

  async #gather({ sections, since }: { sections: Section[]; since: Revision }, limit: number): Promise<Gathered> {
    const objects = new Map<StoreKey, StoredObject>();
    let firstRevision = since;
    let lastRevision = 0;
    for (const section of sections) {
      let lower = section.lower;
      for (let exhausted = false; !exhausted; ) {
        const count = Math.min(REDIS_LIST_PAGE_OBJECTS, limit - objects.size + 1);
        const page = await this.#page(section, lower, count);
        firstRevision = Math.min(firstRevision, page.revision);
        lastRevision = page.revision;
        for (const object of page.objects) objects.set(object.key, object);
        const last = page.objects.at(-1)?.key;
        if (objects.size > limit) return { objects, firstRevision, lastRevision, cutAfter: last };
        exhausted = page.objects.length < count;
        lower = `(${splitKey(last ?? '').member}`;
      }
    }
    if (sections.length === 0) lastRevision = since;
    return { objects, firstRevision, lastRevision, cutAfter: undefined };
  }

  async #page(
    section: Section,
    lower: string,
    count: number,
  ): Promise<{ revision: Revision; objects: StoredObject[] }> {
    const { resource, upper } = section;
    const keys = [META_KEY, indexKey(resource)];
    const parameters = [lower, upper, count, `${OBJECT_KEY_PREFIX}${resource}/`];
    return this.#script({ script: PAGE, keys, arguments: parameters }, (reply) => decodePage(resource, reply));
  }

  /** Brings pages of different revisions to the last one by applying the changes made meanwhile. */
  async #settle(gathered: Gathered, covers: (key: StoreKey) => boolean): Promise<void> {
    let at = gathered.firstRevision;
    while (at < gathered.lastRevision) {
      const entries = await this.history(at, Math.min(FEED_BATCH_CHANGES, gathered.lastRevision - at));
      invariant(entries.length > 0, 'history reaches the revision of a list', { at, upTo: gathered.lastRevision });
      for (const { change } of entries) {
        at = change.revision;
        if (covers(change.key)) replay(gathered.objects, change);
      }
    }
  }

  #script<T extends { state: string; revision: Revision }>(
    call: ScriptCall,
    decode: (reply: unknown) => T,
  ): Promise<T> {
    return this.#observed(async (redis) => decode(await callScript(redis, call)));
  }

  async #observed<T extends { state: string; revision: Revision }>(ask: (redis: Redis) => Promise<T>): Promise<T> {
    const knownBefore = this.#standing.highest;
    const answer = await this.#run(ask);
    this.#standing.changeState(answer.state);
    this.#standing.assertServing();
    this.#standing.observe(answer.revision, knownBefore);
    return answer;
  }

  async #run<T>(ask: (redis: Redis) => Promise<T>): Promise<T> {
    this.#standing.assertServing();
    const redis = this.#link.current;
    if (redis === undefined) throw unavailable('no connection to the store', this.#link.lastError);
    try {
      return await ask(redis);
    } catch (error) {
      if (isServerError(error) && error.message.startsWith('HALF')) throw this.#standing.halt(error.message);
      if (error instanceof DamagedValue) throw this.#standing.halt(error.message);
      if (!(error instanceof NotExecuted)) this.#link.drop(redis, error);
      throw unavailable('the store did not answer a read', error);
    }
  }
}

function sectionOf(resource: string, memberPrefix: string, after: StoreKey | undefined): Section {
  const start = `${resource}/${memberPrefix}`;
  const upper = `(${memberPrefix}${LAST_CHARACTER}`;
  if (after === undefined || after < start) return { resource, lower: `[${memberPrefix}`, upper };
  const isInside = after.startsWith(`${resource}/`);
  return { resource, lower: `(${isInside ? splitKey(after).member : LAST_CHARACTER}`, upper };
}

function byResource(a: string, b: string): number {
  return `${a}/` < `${b}/` ? -1 : 1;
}

async function scanIndexes(redis: Redis): Promise<string[]> {
  const found = new Set<string>();
  let cursor = '0';
  do {
    const [next, keys] = await redis.scan(cursor, 'MATCH', `${INDEX_KEY_PREFIX}*`, 'COUNT', SCAN_COUNT);
    for (const key of keys) found.add(key.slice(INDEX_KEY_PREFIX.length));
    cursor = next;
  } while (cursor !== '0');
  return [...found];
}

function isCovered(
  key: StoreKey,
  range: { prefix: string; after: StoreKey | undefined; cutAfter: StoreKey | undefined },
): boolean {
  if (!key.startsWith(range.prefix)) return false;
  if (range.after !== undefined && key <= range.after) return false;
  return range.cutAfter === undefined || key <= range.cutAfter;
}

function replay(objects: Map<StoreKey, StoredObject>, change: Change): void {
  const current = objects.get(change.key);
  if (current !== undefined && current.revision >= change.revision) return;
  const next = objectAfter(change, current);
  if (next === undefined) objects.delete(change.key);
  else objects.set(change.key, next);
}
