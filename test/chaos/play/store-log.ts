import { createSystemClock } from '@holdfast/platform';
import type { StoredObject } from '@holdfast/store';
import { type Commit, CommittedState } from '../../sim/committed.ts';
import { waitFor } from '../../support/wait.ts';
import type { ComposeCluster } from '../support/compose-cluster.ts';
import { ChainRule } from './chain-rule.ts';
import { readRedis } from './redis-history.ts';
import { readReplicatedLog } from './replicated-history.ts';

const AGAIN_MS = 300;
const READ_WITHIN_MS = 60_000;

/** A commit, and when it was read here. */
export interface LoggedCommit extends Commit {
  readonly atMs: number;
}

/** A reader goes on at the place that was reached. */
export interface Reading {
  readonly last: () => number;
  /** `undefined`: a revision without a change. */
  readonly take: (revision: number, commit: Commit | undefined) => void;
  readonly isOver: () => boolean;
}

const clock = createSystemClock();

/** Reads what is committed from the store itself, beside all processes of the cluster: what they say is measured by it. */
export class StoreLog implements AsyncDisposable {
  readonly commits: LoggedCommit[] = [];
  readonly state = new CommittedState();
  readonly #cluster: ComposeCluster;
  readonly #objects = new Map<string, StoredObject>();
  readonly #chain = new ChainRule();
  readonly #broken: string[] = [];
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

  /** Sentences about a history that no compare-and-swap can have made. */
  broken(): readonly string[] {
    return this.#broken;
  }

  /** Calls `listener` with everything that will be committed. Returns the end of that. */
  onCommit(listener: (commit: LoggedCommit) => void): () => void {
    this.#listeners.add(listener);
    return () => void this.#listeners.delete(listener);
  }

  /** What checkers take for the truth has to be all of it. */
  async reach(revision: number): Promise<void> {
    const isRead = async (): Promise<boolean> => this.#last >= revision;
    await waitFor(`the history of the store to be read up to ${revision}`, isRead, READ_WITHIN_MS);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#isOver = true;
    await this.#running;
  }

  /** The store may be killed and come back, perhaps at another address. */
  async #follow(): Promise<void> {
    const read = this.#cluster.form === 'S' ? readRedis : readReplicatedLog;
    const reading: Reading = {
      last: () => this.#last,
      take: (revision, commit) => this.#take(revision, commit),
      isOver: () => this.#isOver,
    };
    while (!this.#isOver) {
      // The next one goes on at the same revision.
      await read(this.#cluster, reading).catch(() => undefined);
      if (!this.#isOver) await clock.sleep(AGAIN_MS);
    }
  }

  #take(revision: number, read: Commit | undefined): void {
    this.#last = revision;
    const wrong = this.#chain.observe(revision, read);
    if (wrong !== undefined) this.#broken.push(wrong);
    if (read === undefined) return;
    const commit = { ...read, atMs: clock.monotonic() };
    this.commits.push(commit);
    this.state.apply(commit);
    const { kind, key, value } = commit.operation;
    if (kind === 'delete') this.#objects.delete(key);
    else this.#objects.set(key, { key, value, revision, createRevision: revision });
    for (const listener of this.#listeners) this.#tell(listener, commit);
  }

  /** A checker that fails has not judged what follows. */
  #tell(listener: (commit: LoggedCommit) => void, commit: LoggedCommit): void {
    try {
      listener(commit);
    } catch (error) {
      this.#broken.push(`a checker failed at revision ${commit.revision}: ${String(error)}`);
    }
  }
}
