import { type Clock, describeError, type Log } from '@holdfast/platform';
import {
  LOG_GUARANTEE_AGAIN_MS,
  LOG_GUARANTEE_INTERVAL_MS,
  LOG_GUARANTEE_VALID_MS,
  LOG_RETRY_LONGEST_MS,
  LOG_START_TIMEOUT_MS,
} from '../limits.ts';
import { StoreUnavailable } from '../port.ts';
import { type Finding, findingsOf, type MonitorReading } from './guarantees.ts';
import { streamInfo } from './jetstream.ts';
import type { LogReplica } from './log-replica.ts';
import { readMonitor } from './monitor.ts';
import { readCurrent } from './open-log.ts';

export interface GuaranteeOptions {
  readonly clock: Clock;
  readonly log: Log;
  readonly replicas?: number;
  readonly monitors?: readonly string[];
  readonly allowUnsafe?: boolean;
  readonly acceptOldServers?: boolean;
  readonly startTimeoutMs?: number;
}

export const DEFAULT_REPLICAS = 3;

const UNCHECKED: Finding = { broken: ['nothing has been checked yet'], cautions: [] };

type CheckedReplica = Pick<LogReplica, 'connection' | 'names' | 'current' | 'sawStored'>;

/** Reads back what the guarantees rely on, and remembers what is wrong. */
export class GuaranteeCheck {
  readonly #replica: CheckedReplica;
  readonly #options: GuaranteeOptions;
  readonly #read: typeof readMonitor;
  /** What each monitoring address answered last, and when. */
  readonly #answers = new Map<string, { readonly reading: MonitorReading; readonly at: number }>();
  /** `undefined`: nothing has been checked yet. */
  #finding: Finding | undefined;
  #checkedAt: number;
  #triedAt: number;

  constructor(replica: CheckedReplica, options: GuaranteeOptions, read = readMonitor) {
    this.#replica = replica;
    this.#options = options;
    this.#read = read;
    this.#checkedAt = options.clock.monotonic();
    this.#triedAt = this.#checkedAt;
  }

  /** What was found last. A check that has not come through for long is a finding. */
  get standing(): Finding {
    const { clock, allowUnsafe = false } = this.#options;
    const { broken, cautions } = this.#finding ?? UNCHECKED;
    const ageMs = clock.monotonic() - this.#checkedAt;
    const stale = ageMs > LOG_GUARANTEE_VALID_MS ? [`nothing could be checked for ${Math.round(ageMs / 1_000)} s`] : [];
    const all = [...broken, ...stale];
    return allowUnsafe ? { broken: [], cautions: [...all, ...cautions] } : { broken: all, cautions };
  }

  /** Looks again when it is time: sooner while the store does not serve. */
  async runIfDue(): Promise<void> {
    const waitMs = this.standing.broken.length > 0 ? LOG_GUARANTEE_AGAIN_MS : LOG_GUARANTEE_INTERVAL_MS;
    if (this.#options.clock.monotonic() - this.#triedAt >= waitMs) await this.run();
  }

  /** Looks until a check has come through. Rejects when none does in time, unless that is accepted. */
  async runFirst(): Promise<void> {
    const { clock, allowUnsafe = false, startTimeoutMs = LOG_START_TIMEOUT_MS } = this.#options;
    const deadline = clock.monotonic() + startTimeoutMs;
    while (!(await this.run()) && !allowUnsafe) {
      if (clock.monotonic() >= deadline) throw new StoreUnavailable('what the log relies on could not be checked');
      await clock.sleep(LOG_RETRY_LONGEST_MS);
    }
  }

  /** Looks again. Without a connection the last finding stays, until it is too old. False: nothing was found out. */
  async run(): Promise<boolean> {
    const { clock, log, replicas = DEFAULT_REPLICAS, monitors = [], acceptOldServers = false } = this.#options;
    const { connection, names, current } = this.#replica;
    this.#triedAt = clock.monotonic();
    if (connection === undefined) return false;
    try {
      const [base, stream, ...readings] = await Promise.all([
        streamInfo(connection, names.baseStream),
        streamInfo(connection, current.stream),
        ...monitors.map((url) => this.#readingOf(url)),
      ]);
      if (stream !== undefined) this.#replica.sawStored(stream.lastSequence);
      const record = base === undefined ? undefined : await readCurrent(connection, names);
      const serverVersion = connection.info?.version ?? '0';
      const evidence = { serverVersion, base, log: stream, record, monitors: readings };
      const found = findingsOf(evidence, { names, current, replicas, acceptOldServers });
      if (found.broken.join() !== (this.#finding?.broken ?? []).join())
        log.warn('what the log relies on has changed', { broken: found.broken });
      this.#finding = found;
      this.#checkedAt = clock.monotonic();
      return true;
    } catch (error) {
      log.warn('what the log relies on could not be checked', { reason: describeError(error) });
      return false;
    }
  }

  /** An answer is valid for a while: a server that is slow for a moment has not changed. */
  async #readingOf(url: string): Promise<MonitorReading> {
    const { clock } = this.#options;
    const reading = await this.#read(clock, url);
    const now = clock.monotonic();
    if (reading.failure === undefined) {
      this.#answers.set(url, { reading, at: now });
      return reading;
    }
    const last = this.#answers.get(url);
    if (last === undefined || now - last.at > LOG_GUARANTEE_VALID_MS) return reading;
    return { ...last.reading, failure: reading.failure };
  }
}
