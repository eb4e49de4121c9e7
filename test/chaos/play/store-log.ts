import { readFileSync } from 'node:fs';
import path from 'node:path';
import { createSystemClock } from '@holdfast/platform';
import type { StoredObject, WriteOperation } from '@holdfast/store';
import { Redis } from 'ioredis';
import { type Commit, CommittedState } from '../../sim/committed.ts';
import { addressesOf } from '../losses/faults.ts';
import type { ComposeCluster } from '../support/compose-cluster.ts';

/** The stream of the Redis store: an entry per revision. */
const HISTORY = '{k8s}:h';
const REDIS_PORT = 6379;
const BATCH = 500;
const BLOCK_MS = 300;
const AGAIN_MS = 300;
const COMMAND_TIMEOUT_MS = 5_000;
const KINDS: ReadonlyMap<string | undefined, WriteOperation['kind']> = new Map([
  ['c', 'create'],
  ['u', 'update'],
  ['d', 'delete'],
]);

/** A commit, and when it was read here. */
export interface LoggedCommit extends Commit {
  readonly atMs: number;
}

const clock = createSystemClock();

/** Reads what is committed from the store itself, beside all processes of the cluster: what they say is measured by it. */
export class StoreLog implements AsyncDisposable {
  readonly commits: LoggedCommit[] = [];
  readonly state = new CommittedState();
  readonly #cluster: ComposeCluster;
  readonly #objects = new Map<string, StoredObject>();
  readonly #listeners = new Set<(commit: LoggedCommit) => void>();
  readonly #running: Promise<void>;
  #last = 0;
  #isOver = false;

  constructor(cluster: ComposeCluster) {
    this.#cluster = cluster;
    this.#running = this.#follow();
  }

  /** The last revision that was read. */
  get revision(): number {
    return this.#last;
  }

  /** What is stored now. */
  objects(): readonly StoredObject[] {
    return [...this.#objects.values()];
  }

  /** Calls `listener` with everything that will be committed. Returns the end of that. */
  onCommit(listener: (commit: LoggedCommit) => void): () => void {
    this.#listeners.add(listener);
    return () => void this.#listeners.delete(listener);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#isOver = true;
    await this.#running;
  }

  /** The store may be killed and come back, perhaps at another address. */
  async #follow(): Promise<void> {
    while (!this.#isOver) {
      const redis = await this.#connect().catch(() => undefined);
      try {
        while (redis !== undefined && !this.#isOver) await this.#read(redis);
      } catch {
        // The next connection goes on at the same revision.
      }
      redis?.disconnect();
      if (!this.#isOver) await clock.sleep(AGAIN_MS);
    }
  }

  async #connect(): Promise<Redis | undefined> {
    const [host] = await addressesOf(this.#cluster.containerOf('redis'));
    if (host === undefined) return undefined;
    const folder = path.join(this.#cluster.stateFolder, 'redis');
    const configuration = readFileSync(path.join(folder, 'redis.conf'), 'utf8');
    const [, password = ''] = /^user default reset on >(\S+)/m.exec(configuration) ?? [];
    const redis = new Redis({
      host,
      port: REDIS_PORT,
      password,
      tls: { ca: readFileSync(path.join(folder, 'ca.crt'), 'utf8'), servername: 'redis' },
      lazyConnect: true,
      retryStrategy: null,
      commandTimeout: COMMAND_TIMEOUT_MS,
      maxRetriesPerRequest: 0,
    });
    redis.on('error', () => {});
    await redis.connect();
    return redis;
  }

  async #read(redis: Redis): Promise<void> {
    const answer = await redis.xread('COUNT', BATCH, 'BLOCK', BLOCK_MS, 'STREAMS', HISTORY, `${this.#last}-0`);
    for (const [id, fields] of answer?.[0]?.[1] ?? []) {
      const commit = commitOf(id, fields ?? []);
      this.#last = Number(id.split('-')[0]);
      if (commit === undefined) continue;
      this.commits.push(commit);
      this.state.apply(commit);
      const { kind, key, value } = commit.operation;
      if (kind === 'delete') this.#objects.delete(key);
      else this.#objects.set(key, { key, value, revision: this.#last, createRevision: this.#last });
      for (const listener of this.#listeners) listener(commit);
    }
  }
}

function commitOf(id: string, fields: readonly string[]): LoggedCommit | undefined {
  const of = (name: string): string | undefined => fields[fields.indexOf(name) + 1];
  const [kind, key, value] = [KINDS.get(of('o')), of('k'), of('v')];
  if (kind === undefined || key === undefined || value === undefined) return undefined;
  const expectedRevision = Number(of('p'));
  const operation: WriteOperation = kind === 'create' ? { kind, key, value } : { kind, key, value, expectedRevision };
  return { revision: Number(id.split('-')[0]), operation, atMs: clock.monotonic() };
}
