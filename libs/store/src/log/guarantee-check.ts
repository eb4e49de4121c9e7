import { type Clock, describeError, type Log } from '@holdfast/platform';
import { LOG_GUARANTEE_VALID_MS } from '../limits.ts';
import { type Finding, findingsOf } from './guarantees.ts';
import { streamInfo } from './jetstream.ts';
import type { LogReplica } from './log-replica.ts';
import { readMonitor } from './monitor.ts';

export interface GuaranteeOptions {
  readonly clock: Clock;
  readonly log: Log;
  readonly replicas?: number;
  readonly monitors?: readonly string[];
  readonly allowUnsafe?: boolean;
  readonly acceptOldServers?: boolean;
}

export const DEFAULT_REPLICAS = 3;

/** Reads back what the guarantees rely on, and remembers what is wrong. */
export class GuaranteeCheck {
  readonly #replica: LogReplica;
  readonly #options: GuaranteeOptions;
  #finding: Finding = { broken: [], cautions: [] };
  #checkedAt: number;

  constructor(replica: LogReplica, options: GuaranteeOptions) {
    this.#replica = replica;
    this.#options = options;
    this.#checkedAt = options.clock.monotonic();
  }

  /** What was found last. A check that has not come through for long is a finding. */
  get standing(): Finding {
    const { clock, allowUnsafe = false } = this.#options;
    const { broken, cautions } = this.#finding;
    const ageMs = clock.monotonic() - this.#checkedAt;
    const stale = ageMs > LOG_GUARANTEE_VALID_MS ? [`nothing could be checked for ${Math.round(ageMs / 1_000)} s`] : [];
    const all = [...broken, ...stale];
    return allowUnsafe ? { broken: [], cautions: [...all, ...cautions] } : { broken: all, cautions };
  }

  /** Looks again. Without a connection the last finding stays, until it is too old. */
  async run(): Promise<void> {
    const { clock, log, replicas = DEFAULT_REPLICAS, monitors = [], acceptOldServers = false } = this.#options;
    const { connection, names, current } = this.#replica;
    if (connection === undefined) return;
    try {
      const [base, stream, ...readings] = await Promise.all([
        streamInfo(connection, names.baseStream),
        streamInfo(connection, current.stream),
        ...monitors.map((url) => readMonitor(clock, url)),
      ]);
      if (stream !== undefined) this.#replica.sawStored(stream.lastSequence);
      const serverVersion = connection.info?.version ?? '0';
      const evidence = { serverVersion, base, log: stream, monitors: readings };
      const found = findingsOf(evidence, { names, current, replicas, acceptOldServers });
      if (found.broken.join() !== this.#finding.broken.join())
        log.warn('what the log relies on has changed', { broken: found.broken });
      this.#finding = found;
      this.#checkedAt = clock.monotonic();
    } catch (error) {
      log.warn('what the log relies on could not be checked', { reason: describeError(error) });
    }
  }
}
