import { LEASES, type Lease, type LeaseSpec } from '@holdfast/api';
import { StatusError } from '@holdfast/machinery';
import { type Clock, formatMicroTime, type Log, OperatorError, type Random, type Service } from '@holdfast/platform';
import { LEASE_DURATION_MS, LEASE_RENEW_DEADLINE_MS, LEASE_RETRY_JITTER, LEASE_RETRY_PERIOD_MS } from './limits.ts';
import type { ApiClient, Target } from './port.ts';

export interface LeaderElectorOptions {
  readonly client: ApiClient;
  readonly lease: Required<Target>;
  /** Unique per process start. */
  readonly identity: string;
  readonly clock: Clock;
  readonly random: Random;
  readonly log: Log;
  readonly leaseDurationMs?: number;
  readonly renewDeadlineMs?: number;
  readonly retryPeriodMs?: number;
  /** `signal` aborts when leadership is lost or released. */
  readonly onStartedLeading: (signal: AbortSignal) => void;
  readonly onStoppedLeading: () => void;
  readonly onNewLeader?: (identity: string) => void;
}

export interface LeaderElector extends Service {
  isLeader(): boolean;
  leader(): string | undefined;
  /** Empty while some process renews the lease and this process sees that. Otherwise a sentence about what is wrong. */
  problems(): readonly string[];
}

/**
 * Leadership saves work. It never provides safety, because a stalled leader learns late that it lost (see
 * docs/internals/client.md). The elector judges a lease by how long its own monotonic clock has seen it unchanged. It
 * never compares wall clocks.
 */
export function createLeaderElector(options: LeaderElectorOptions): LeaderElector {
  const elector = {
    leaseDurationMs: LEASE_DURATION_MS,
    renewDeadlineMs: LEASE_RENEW_DEADLINE_MS,
    retryPeriodMs: LEASE_RETRY_PERIOD_MS,
    ...options,
  };
  const { leaseDurationMs, renewDeadlineMs, retryPeriodMs } = elector;
  if (leaseDurationMs <= renewDeadlineMs || renewDeadlineMs <= LEASE_RETRY_JITTER * retryPeriodMs) {
    throw new OperatorError({
      code: 'LeaderElectionTimes',
      message: `lease duration ${leaseDurationMs} ms, renew deadline ${renewDeadlineMs} ms and retry period ${retryPeriodMs} ms do not fit together`,
      nextStep: 'choose lease duration > renew deadline > 1.2 x retry period',
    });
  }
  return new Elector(elector);
}

type ResolvedOptions = LeaderElectorOptions &
  Required<Pick<LeaderElectorOptions, 'leaseDurationMs' | 'renewDeadlineMs' | 'retryPeriodMs'>>;

class Elector implements LeaderElector {
  readonly name = 'leader elector';
  readonly #options: ResolvedOptions;
  readonly #stopping = new AbortController();
  #observed: Lease | undefined;
  #observedAt = 0;
  #leading: AbortController | undefined;
  #reportedLeader: string | undefined;
  #loop: Promise<void> | undefined;

  constructor(options: ResolvedOptions) {
    this.#options = options;
  }

  isLeader(): boolean {
    return this.#leading !== undefined;
  }

  leader(): string | undefined {
    const holder = this.#observed?.spec?.holderIdentity;
    return holder === '' ? undefined : holder;
  }

  problems(): readonly string[] {
    const { lease } = this.#options;
    if (this.#observed === undefined) return [`the lease ${lease.name} was not read yet`];
    if (!this.#ranOut()) return [];
    const seconds = Math.round((this.#options.clock.monotonic() - this.#observedAt) / 1000);
    return [`the lease ${lease.name} was not seen renewed for ${seconds} s`];
  }

  async start(): Promise<void> {
    this.#loop ??= this.#run();
  }

  async stop(): Promise<void> {
    this.#stopping.abort(new Error('the leader elector is stopping'));
    await this.#loop;
  }

  async #run(): Promise<void> {
    const { signal } = this.#stopping;
    while (!signal.aborted) {
      if (await this.#tryOnce()) {
        this.#lead();
        await this.#keep();
        this.#stopLeading();
        if (signal.aborted) await this.#release();
      }
      await this.#pause();
    }
  }

  /**
   * Renews until no renewal succeeded for the renew deadline, another process holds the lease, or the elector stops.
   */
  async #keep(): Promise<void> {
    const { clock, renewDeadlineMs } = this.#options;
    const { signal } = this.#stopping;
    let renewedAt = clock.monotonic();
    while (!signal.aborted) {
      await this.#pause();
      if (signal.aborted) break;
      const startedAt = clock.monotonic();
      const renewed = await this.#within(this.#tryOnce(), renewedAt + renewDeadlineMs - startedAt);
      if (renewed === true) renewedAt = startedAt;
      else if (this.#heldByOther() || clock.monotonic() - renewedAt >= renewDeadlineMs) return;
    }
  }

  /** A pending renewal must not outlive the renew deadline: another process may lead after the lease expires. */
  async #within(attempt: Promise<boolean>, deadlineMs: number): Promise<boolean | undefined> {
    const { promise, resolve } = Promise.withResolvers<undefined>();
    const timer = this.#options.clock.timer(Math.max(0, deadlineMs), () => resolve(undefined));
    const outcome = await Promise.race([attempt, promise]);
    timer.cancel();
    return outcome;
  }

  #lead(): void {
    this.#leading = new AbortController();
    this.#options.log.info('became leader', { lease: this.#options.lease.name, identity: this.#options.identity });
    this.#options.onStartedLeading(this.#leading.signal);
  }

  #stopLeading(): void {
    this.#leading?.abort(new Error('leadership ended'));
    this.#leading = undefined;
    this.#options.log.info('stopped leading', { lease: this.#options.lease.name, identity: this.#options.identity });
    this.#options.onStoppedLeading();
  }

  /** Acquires or renews the lease. Resolves with false when another process holds it or the API rejects the write. */
  async #tryOnce(): Promise<boolean> {
    const { client, lease, log } = this.#options;
    try {
      const current = await client.find(LEASES, lease);
      this.#observe(current);
      if (current !== undefined && this.#heldByOther() && !this.#ranOut()) return false;
      const next = this.#claim(current);
      this.#observe(current === undefined ? await client.create(LEASES, next) : await client.update(LEASES, next));
      return true;
    } catch (error) {
      if (!(error instanceof StatusError && error.code === 409)) {
        log.warn('the lease could not be acquired or renewed', { lease: lease.name, error });
      }
      return false;
    }
  }

  #observe(lease: Lease | undefined): void {
    if (lease?.metadata.resourceVersion !== this.#observed?.metadata.resourceVersion || lease === undefined) {
      this.#observed = lease;
      this.#observedAt = this.#options.clock.monotonic();
    }
    const leader = this.leader();
    if (leader !== undefined && leader !== this.#reportedLeader) {
      this.#reportedLeader = leader;
      this.#options.onNewLeader?.(leader);
    }
  }

  #heldByOther(): boolean {
    const holder = this.leader();
    return holder !== undefined && holder !== this.#options.identity;
  }

  #ranOut(): boolean {
    const seconds = this.#observed?.spec?.leaseDurationSeconds;
    const durationMs = seconds === undefined ? this.#options.leaseDurationMs : seconds * 1000;
    return this.#options.clock.monotonic() - this.#observedAt >= durationMs;
  }

  #claim(current: Lease | undefined): Lease {
    const { identity, leaseDurationMs, lease, clock } = this.#options;
    const now = formatMicroTime(clock.now());
    const before: LeaseSpec = current?.spec ?? {};
    const mine = before.holderIdentity === identity;
    return {
      apiVersion: 'coordination.k8s.io/v1',
      kind: 'Lease',
      metadata: current?.metadata ?? { name: lease.name, namespace: lease.namespace },
      spec: {
        holderIdentity: identity,
        leaseDurationSeconds: Math.ceil(leaseDurationMs / 1000),
        acquireTime: mine && before.acquireTime !== undefined ? before.acquireTime : now,
        renewTime: now,
        leaseTransitions: (before.leaseTransitions ?? 0) + (mine || current === undefined ? 0 : 1),
      },
    };
  }

  /** Lets the next process lead immediately instead of after the lease expires. */
  async #release(): Promise<void> {
    const { client, lease, clock, identity, log } = this.#options;
    const held = this.#observed;
    if (held?.spec.holderIdentity !== identity) return;
    const now = formatMicroTime(clock.now());
    const spec: LeaseSpec = {
      holderIdentity: '',
      leaseDurationSeconds: 1,
      acquireTime: now,
      renewTime: now,
      leaseTransitions: held.spec.leaseTransitions ?? 0,
    };
    try {
      await client.update(LEASES, { ...held, spec });
    } catch (error) {
      log.debug('the lease could not be released and will expire', { lease: lease.name, error });
    }
  }

  async #pause(): Promise<void> {
    const { clock, random, retryPeriodMs } = this.#options;
    const jitterMs = retryPeriodMs * (LEASE_RETRY_JITTER - 1) * random.float();
    await clock.sleep(retryPeriodMs + jitterMs, this.#stopping.signal).catch(() => {});
  }
}
