import { type Clock, describeError, type Log, type Timer } from '@holdfast/platform';
import type { FlowTable, PacketFilter } from './filter/port.ts';
import { NO_FLOW_TABLE } from './filter/port.ts';
import type { ProxyProgress } from './health/proxy-health.ts';
import { CHECK_INTERVAL_MS, GATHER_MS, RETRY_BASE_MS, RETRY_MAX_MS } from './limits.ts';
import type { ProxyMetrics } from './metrics.ts';
import { isPolicyUnit } from './policies/policy-names.ts';
import { Assembly } from './ruleset/assembly.ts';
import { BASE_UNIT } from './ruleset/base.ts';
import type { Fragment } from './ruleset/fragment.ts';
import { FAMILIES, type Family } from './ruleset/model.ts';
import { FlowRemoval } from './services/flow-removal.ts';
import { staleFlows } from './services/stale-flows.ts';

export interface SyncOptions {
  readonly filter: PacketFilter;
  readonly flows?: FlowTable | undefined;
  readonly clock: Clock;
  readonly log: Log;
  readonly metrics: ProxyMetrics;
  /** The decision: the rules of a unit as the objects are now. */
  fragmentOf(unit: string, family: Family): Fragment | undefined;
  /** Called after each successful update. */
  onSynced?(): void;
  /** Called when updates begin to fail, and again when they fail for another reason. */
  onFailure?(reason: string): void;
}

/**
 * Brings the rules of units into the kernel. Changes that come together are one transaction. After an error it writes
 * everything again, because it cannot know what the kernel holds.
 */
export class RuleSync {
  readonly #options: SyncOptions;
  readonly #assemblies = new Map(FAMILIES.map((family) => [family, new Assembly(family)]));
  readonly #dirty = new Set<string>();
  readonly #removal: FlowRemoval;
  /** Counts requests for a write; each write covers those before its begin. */
  #requested = 0;
  #written = -1;
  readonly #waiting = new Set<{ readonly request: number; readonly done: () => void }>();
  #needsReset = true;
  #lastUpdatedMs: number | undefined;
  #queuedSinceMs: number | undefined;
  #failures = 0;
  #reason = '';
  #pending: Timer | undefined;
  #check: Timer | undefined;
  #running: Promise<void> | undefined;
  #isStarted = false;
  #isStopped = false;

  constructor(options: SyncOptions) {
    this.#options = options;
    this.#removal = new FlowRemoval(options.flows ?? NO_FLOW_TABLE);
  }

  /** Marks units whose rules may have changed. */
  touch(units: Iterable<string>): void {
    for (const unit of units) this.#dirty.add(unit);
    this.#queuedSinceMs ??= this.#options.clock.monotonic();
    this.#requested += 1;
    this.#schedule(GATHER_MS);
  }

  /** Resolves when everything that was touched before is in the kernel. A stop leaves it pending. */
  written(): Promise<void> {
    const request = this.#requested;
    if (request <= this.#written) return Promise.resolve();
    const { promise, resolve } = Promise.withResolvers<void>();
    this.#waiting.add({ request, done: resolve });
    return promise;
  }

  progress(): ProxyProgress {
    return { lastUpdatedMs: this.#lastUpdatedMs, queuedSinceMs: this.#queuedSinceMs };
  }

  /** True while the last update failed. */
  isFailing(): boolean {
    return this.#failures > 0;
  }

  /** Why the last update failed; absent when it did not. */
  failure(): string | undefined {
    return this.isFailing() ? this.#reason : undefined;
  }

  /** Writes everything, and then follows the changes. A write that fails is repeated, the first one included. */
  async start(units: Iterable<string>): Promise<void> {
    for (const unit of units) this.#dirty.add(unit);
    this.#queuedSinceMs ??= this.#options.clock.monotonic();
    this.#isStarted = true;
    this.#running = this.#pass();
    await this.#running;
    this.#armCheck();
  }

  /** Writes everything again: the filter is a new one. */
  rewrite(): void {
    this.#needsReset = true;
    this.#requested += 1;
    this.#schedule(GATHER_MS);
  }

  async stop(): Promise<void> {
    this.#isStopped = true;
    this.#pending?.cancel();
    this.#check?.cancel();
    await this.#running;
    await this.#removal.stop();
  }

  #schedule(delayMs: number): void {
    const isBusy = this.#pending !== undefined || this.#running !== undefined;
    if (isBusy || this.#isStopped || !this.#isStarted) return;
    this.#pending = this.#options.clock.timer(delayMs, () => {
      this.#pending = undefined;
      this.#running = this.#pass();
    });
  }

  async #pass(): Promise<void> {
    try {
      await this.#write();
      this.#failures = 0;
      this.#reason = '';
    } catch (error) {
      this.#failures += 1;
      this.#failed(error);
    }
    this.#running = undefined;
    if (this.#failures > 0) this.#schedule(Math.min(RETRY_BASE_MS * 2 ** (this.#failures - 1), RETRY_MAX_MS));
    else if (this.#dirty.size > 0 || this.#needsReset) this.#schedule(GATHER_MS);
  }

  /** A reason is stated once: the attempts go on until it is gone. */
  #failed(error: unknown): void {
    this.#options.metrics.failed();
    const reason = describeError(error);
    if (reason === this.#reason) return;
    this.#reason = reason;
    this.#options.log.warn('the rules cannot be written, the proxy tries again until it succeeds', { error });
    this.#options.onFailure?.(reason);
  }

  async #write(): Promise<void> {
    const { filter, clock, metrics } = this.#options;
    const startedMs = clock.monotonic();
    const request = this.#requested;
    const units = setsFirst(this.#dirty);
    this.#dirty.clear();
    const updates = [...this.#assemblies].map(([family, assembly]) => this.#update(family, assembly, units));
    const changes = updates.flatMap(({ change }) => change ?? []);
    const kind = this.#needsReset ? 'full' : 'partial';
    // A rewrite that is requested while this one runs is another one.
    this.#needsReset = false;
    try {
      if (kind === 'full') await filter.reset([...this.#assemblies.values()].map((assembly) => assembly.table()));
      else if (changes.length > 0) await filter.apply(changes);
    } catch (error) {
      this.#needsReset = true;
      throw error;
    }
    if (kind === 'full' || changes.length > 0) {
      metrics.synced({ kind, seconds: (clock.monotonic() - startedMs) / 1_000, nowMs: clock.now() });
    }
    this.#lastUpdatedMs = clock.now();
    this.#queuedSinceMs = this.#dirty.size > 0 ? clock.monotonic() : undefined;
    this.#tellWritten(request);
    this.#removal.add(updates.flatMap(({ stale }) => stale));
    this.#options.onSynced?.();
  }

  #tellWritten(request: number): void {
    this.#written = request;
    for (const waiting of this.#waiting) {
      if (waiting.request > request) continue;
      this.#waiting.delete(waiting);
      waiting.done();
    }
  }

  #update(family: Family, assembly: Assembly, units: readonly string[]) {
    const fragments = units.map((unit) => [unit, this.#decide(unit, family)] as const);
    const stale = fragments.flatMap(([unit, fragment]) =>
      staleFlows(family, { before: assembly.fragment(unit), after: fragment }),
    );
    return { change: assembly.replace(fragments), stale };
  }

  /** One object that cannot be understood must not keep the rules of all others from being written. */
  #decide(unit: string, family: Family): Fragment | undefined {
    try {
      return this.#options.fragmentOf(unit, family);
    } catch (error) {
      this.#options.log.error('the rules of an object cannot be built, it gets none', {
        unit,
        error: describeError(error),
      });
      return undefined;
    }
  }

  #armCheck(): void {
    if (this.#isStopped) return;
    this.#check = this.#options.clock.timer(CHECK_INTERVAL_MS, () => {
      void this.#lookForRules().then(
        () => this.#armCheck(),
        () => this.#armCheck(),
      );
    });
  }

  async #lookForRules(): Promise<void> {
    if (this.#running !== undefined || (await this.#options.filter.isIntact())) return;
    if (this.#running !== undefined) return;
    this.#options.log.warn('another program removed the rules, all of them will be written again', {});
    this.rewrite();
  }
}

/** A set must be there before other units fill it: those of the base, then those of policies. */
function setsFirst(units: ReadonlySet<string>): readonly string[] {
  const rank = (unit: string): number => (unit === BASE_UNIT ? 0 : isPolicyUnit(unit) ? 1 : 2);
  return [...units].toSorted((a, b) => rank(a) - rank(b));
}
