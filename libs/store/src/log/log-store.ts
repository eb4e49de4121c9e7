import { type Clock, type Ids, type Log, OperatorError } from '@holdfast/platform';
import { every, Maintenance } from '../internal/maintenance.ts';
import { assertBatch } from '../internal/operations.ts';
import { DEFAULT_RETENTION, type RetentionLimits, retentionBeside } from '../internal/retention.ts';
import { roomCautions } from '../internal/room.ts';
import { LOG_GUARANTEE_AGAIN_MS, MAINTAIN_INTERVAL_MS } from '../limits.ts';
import {
  type Change,
  Compacted,
  type DurableStore,
  type Lineage,
  type ListOptions,
  type ListPage,
  type Revision,
  type StoredObject,
  StoreHalted,
  type StoreKey,
  type StoreLimits,
  StoreUnavailable,
  type StoreUsage,
  type WriteOperation,
  type WriteOptions,
  type WriteResult,
} from '../port.ts';
import { GuaranteeCheck } from './guarantee-check.ts';
import type { LogAccess } from './link.ts';
import { LogReplica } from './log-replica.ts';
import { unsafeError } from './open-errors.ts';

export interface LogStoreOptions extends LogAccess {
  readonly clock: Clock;
  readonly ids: Ids;
  readonly log: Log;
  /** Copies of the log, each on another server. 1 only for experiments. */
  readonly replicas?: number;
  /** `http://host:8222` of the servers: where `sync_interval` can be seen. */
  readonly monitors?: readonly string[];
  /** Start although a guarantee is not in force or cannot be seen. */
  readonly allowUnsafe?: boolean;
  /** Start although a server has a version before 2.11, whose replication has known faults. */
  readonly acceptOldServers?: boolean;
  /** What the names of the cluster's streams begin with. */
  readonly name?: string;
  readonly startTimeoutMs?: number;
  readonly writeDeadlineMs?: number;
  readonly retention?: RetentionLimits;
  /** Entries after which a snapshot is taken. */
  readonly snapshotEntries?: number;
  /** Absent means no limit. */
  readonly limits?: StoreLimits | undefined;
}

/**
 * Opens the log, loads the newest state, and resolves with a store that serves it. Rejects with an OperatorError when a
 * guarantee is not in force.
 */
export async function createLogStore(options: LogStoreOptions): Promise<DurableStore> {
  const replica = await LogReplica.open(options);
  const guarantees = new GuaranteeCheck(replica, options);
  try {
    await guarantees.runFirst();
    const { broken } = guarantees.standing;
    if (broken.length > 0) throw unsafeError(broken);
    await replica.catchUp();
    return new LogStore(options, replica, guarantees);
  } catch (error) {
    await replica.close();
    if (error instanceof OperatorError) throw error;
    throw replica.describeFailedStart(error);
  }
}

/** The port around this process's replica of the log: every read waits for a barrier, every write for its entry. */
class LogStore implements DurableStore {
  readonly #replica: LogReplica;
  readonly #guarantees: GuaranteeCheck;
  readonly #limits: StoreLimits | undefined;
  readonly #maintenance: Maintenance;
  readonly #loops: readonly { stop(): void }[];
  readonly #ownIds: string;
  #ownWrites = 0;

  constructor(options: LogStoreOptions, replica: LogReplica, guarantees: GuaranteeCheck) {
    const { clock, log, ids, retention = DEFAULT_RETENTION } = options;
    this.#replica = replica;
    this.#guarantees = guarantees;
    this.#limits = options.limits;
    this.#ownIds = ids.uuid().slice(0, OWN_ID_CHARACTERS);
    this.#maintenance = new Maintenance({
      clock,
      limits: () => retentionBeside(retention, this.usage(), false),
      measure: async () => ({
        current: replica.revision,
        compacted: replica.compacted,
        bytes: this.usage().historyBytes,
      }),
      compact: (upTo) => this.compact(upTo),
    });
    this.#loops = [
      every({ clock, log, what: 'compaction' }, MAINTAIN_INTERVAL_MS, this.maintain),
      every({ clock, log, what: 'check of guarantees' }, LOG_GUARANTEE_AGAIN_MS, () => guarantees.runIfDue()),
    ];
  }

  async get(key: StoreKey): Promise<{ readonly revision: Revision; readonly object: StoredObject | undefined }> {
    const table = await this.#fresh();
    return { revision: table.revision, object: table.get(key) };
  }

  async list(prefix: string, options?: ListOptions): Promise<ListPage> {
    const table = await this.#fresh();
    return table.list(prefix, options);
  }

  async write(operations: readonly WriteOperation[], options: WriteOptions = {}): Promise<WriteResult> {
    this.#assertServing();
    assertBatch(operations);
    const { writeId, room = 'ordinary' } = options;
    const id = writeId ?? `~${this.#ownIds}.${this.#ownWrites++}`;
    return this.#replica.write({ id, room, operations });
  }

  changes(options: { readonly after: Revision; readonly signal: AbortSignal }): AsyncIterable<readonly Change[]> {
    return this.#replica.feed.follow(options.after, options.signal);
  }

  async currentRevision(): Promise<Revision> {
    return (await this.#fresh()).revision;
  }

  async compactedRevision(): Promise<Revision> {
    this.#assertServing();
    return this.#replica.compacted;
  }

  lineage(): Lineage {
    return this.#replica.lineage;
  }

  async writeIdAt(revision: Revision): Promise<string | undefined> {
    await this.#fresh();
    const { compacted, feed } = this.#replica;
    if (revision <= compacted) throw new Compacted(compacted);
    return feed.at(revision)?.writeId;
  }

  halt(reason: string): void {
    this.#replica.halt(reason);
  }

  haltedBy(): string | undefined {
    return this.#replica.haltedBy;
  }

  async compact(upTo: Revision): Promise<void> {
    this.#assertServing();
    const target = Math.min(upTo, this.#replica.revision);
    if (target > this.#replica.compacted) await this.#replica.command({ kind: 'compact', upTo: target });
  }

  readonly maintain = async (): Promise<void> => {
    if (this.#trouble() === undefined) await this.#maintenance.run();
  };

  usage(): StoreUsage {
    const { objectBytes, feed } = this.#replica;
    return { objectBytes, historyBytes: feed.bytes, limits: this.#limits };
  }

  readonly cautions = (): readonly string[] => [
    ...roomCautions(this.usage()),
    ...this.#guarantees.standing.cautions,
    ...this.#replica.cautions(),
  ];

  async health(): Promise<readonly string[]> {
    const trouble = this.#trouble();
    return trouble === undefined ? [] : [trouble.message];
  }

  async close(): Promise<void> {
    for (const loop of this.#loops) loop.stop();
    await this.#replica.close();
  }

  async #fresh(): Promise<LogReplica['table']> {
    this.#assertServing();
    await this.#replica.barrier();
    this.#assertServing();
    return this.#replica.table;
  }

  #assertServing(): void {
    const trouble = this.#trouble();
    if (trouble !== undefined) throw trouble;
  }

  #trouble(): StoreUnavailable | undefined {
    const { haltedBy } = this.#replica;
    if (haltedBy !== undefined) return new StoreHalted(haltedBy);
    const trouble = this.#replica.trouble();
    if (trouble !== undefined) return new StoreUnavailable(trouble);
    const { broken } = this.#guarantees.standing;
    return broken.length === 0 ? undefined : new StoreUnavailable(`the log is not safe: ${broken.join('; ')}`);
  }
}

const OWN_ID_CHARACTERS = 13;
