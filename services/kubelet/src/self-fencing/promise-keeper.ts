import { LEASES, type Lease, NODE_LEASES_NAMESPACE, type Node, promiseOf, type SelfFencingPolicy } from '@holdfast/api';
import type { ApiClient } from '@holdfast/client';
import { StatusError } from '@holdfast/machinery';
import { type Clock, formatMicroTime, type Log, type Timer } from '@holdfast/platform';
import { deadlineAfter, isCoveredBy } from '../runtime/fencing-deadline.ts';
import type { ContainerRuntime } from '../runtime/port.ts';
import type { ExclusiveGuard } from '../runtime/port-guard.ts';
import {
  LAPSE_LOOK_MS,
  LAPSE_SETTLE_MS,
  PROMISE_ANSWER_MS,
  PROMISE_RENEW_MS,
  PROMISE_RETRY_MS,
  PROMISE_SECONDS,
  WITHDRAW_MS,
} from './limits.ts';
import { nextLease } from './promised-lease.ts';

export interface PromiseKeeperDeps {
  readonly client: ApiClient;
  readonly clock: Clock;
  readonly log: Log;
  readonly nodeName: string;
  /** The machine and its boot. */
  readonly holder: string;
  readonly policy: SelfFencingPolicy;
  readonly guard: ExclusiveGuard;
  readonly runtime: Pick<ContainerRuntime, 'list'>;
  /** The node has another thing to say of its promise. */
  readonly onChange: () => void;
}

/**
 * `none`: the API has acknowledged that nothing is promised. `held`: a promise may be in force, and the guard has its deadline. `lapsed`: the
 * deadline has passed or the promise was broken; nothing new is promised before everything that it covers is dead.
 */
type PromiseState = 'unknown' | 'none' | 'held' | 'lapsed';

/** Why an exclusive pod has to wait. */
export class PromiseWait extends Error {}

const PROMISE_MS = PROMISE_SECONDS * 1000;

/** Renews the node's lease and with it the promise, and moves the guard's deadline after each acknowledged renewal. */
export class PromiseKeeper {
  readonly #deps: PromiseKeeperDeps;
  #state: PromiseState = 'unknown';
  #node: Node | undefined;
  /** As the API had it after the last answer; every write replaces exactly this. */
  #lease: Lease | undefined;
  #timer: Timer | undefined;
  #turning: Promise<void> | undefined;
  #stopped = false;

  constructor(deps: PromiseKeeperDeps) {
    this.#deps = deps;
  }

  /** The node exists and is ours. The first call begins the renewals. */
  begin(node: Node): void {
    const isFirst = this.#node === undefined;
    if (this.#node !== undefined && this.#node.metadata.uid !== node.metadata.uid) this.#lease = undefined;
    this.#node = node;
    if (isFirst) this.#turnSoon();
  }

  /** Whether a promise is in force, as the node says. */
  isPromising(): boolean {
    return this.#state === 'held';
  }

  /**
   * The deadline before which a process of an exclusive pod has to start that the API confirms after this call. Undefined: nothing is promised.
   * Throws `PromiseWait` while neither is certain.
   */
  startBefore(): number | undefined {
    if (this.#state === 'none') return undefined;
    const deadline = this.#deps.guard.deadline();
    const isHeld = this.#state === 'held' && deadline !== undefined && this.#deps.guard.now() < deadline;
    if (isHeld) return deadline;
    throw new PromiseWait('waiting until the API acknowledges the promise of this node');
  }

  /** Takes the promise back, so that pods outlive this kubelet. Without an answer it stays, and its deadline with it. */
  async stop(): Promise<void> {
    this.#stopped = true;
    this.#timer?.cancel();
    await this.#turning;
    if (this.#state !== 'held' || this.#lease === undefined || this.#isPast()) return;
    try {
      await this.#bounded(this.#write(undefined), WITHDRAW_MS);
      this.#deps.guard.withdraw();
    } catch (error) {
      this.#deps.log.warn('the promise was not taken back: exclusive pods end at its deadline', { error });
    }
  }

  #turnSoon(): void {
    this.#turning = this.#turn()
      .catch((error: unknown) => {
        this.#lease = undefined;
        if (!this.#stopped) this.#deps.log.warn('the promise of the node was not renewed, will retry', { error });
        return PROMISE_RETRY_MS;
      })
      .then((waitMs) => {
        if (!this.#stopped) this.#timer = this.#deps.clock.timer(waitMs, () => this.#turnSoon());
      });
  }

  /** Resolves to the time until the next turn. */
  async #turn(): Promise<number> {
    const beganAtMs = this.#deps.guard.now();
    if (this.#state === 'held' && this.#isPast()) this.#lapse('the API acknowledged no renewal in time');
    if (this.#lease === undefined) await this.#look();
    if (this.#state === 'lapsed' && !(await this.#isEverythingDead())) return LAPSE_LOOK_MS;
    await this.#renew();
    return Math.max(LAPSE_LOOK_MS, PROMISE_RENEW_MS - (this.#deps.guard.now() - beganAtMs));
  }

  async #look(): Promise<void> {
    const { client, guard, nodeName } = this.#deps;
    const target = { namespace: NODE_LEASES_NAMESPACE, name: nodeName };
    this.#lease = await this.#bounded(client.find(LEASES, target));
    const promise = promiseOf(this.#lease);
    if (this.#state === 'unknown') {
      const isKept = guard.deadline() !== undefined && !this.#isPast();
      const isFirst = guard.deadline() === undefined && promise === undefined;
      this.#state = isKept ? 'held' : isFirst ? 'none' : 'lapsed';
    }
    if (promise?.isBroken === true && this.#state !== 'lapsed') this.#lapse('the control plane has broken the promise');
  }

  async #renew(): Promise<void> {
    const { guard, policy } = this.#deps;
    const isGuarded = await this.#isGuarded();
    const sentAtMs = guard.now();
    // The first promise may be in force without our hearing of it: its deadline counts from here.
    const isFirst = isGuarded && this.#state === 'none';
    if (isFirst) this.#hold(sentAtMs);
    const writing = this.#write(isGuarded ? policy : undefined);
    if (isGuarded) void writing.then(() => this.#acknowledgedLate(sentAtMs)).catch(() => undefined);
    try {
      this.#lease = await this.#bounded(writing);
    } catch (error) {
      if (isFirst && error instanceof StatusError && error.code < 500) this.#release();
      throw error;
    }
    if (isGuarded) this.#hold(sentAtMs);
    else this.#release();
  }

  /** It counts for as long as it would have in time, and only for a promise that still holds: an API that is slow is not away. */
  #acknowledgedLate(sentAtMs: number): void {
    const { guard, policy } = this.#deps;
    const until = deadlineAfter(sentAtMs, PROMISE_MS);
    if (this.#state !== 'held' || this.#stopped || this.#isPast() || until <= (guard.deadline() ?? until)) return;
    guard.extend(until, policy);
  }

  #hold(sentAtMs: number): void {
    const { guard, policy } = this.#deps;
    guard.extend(deadlineAfter(sentAtMs, PROMISE_MS), policy);
    this.#become('held');
  }

  #release(): void {
    this.#deps.guard.withdraw();
    this.#become('none');
  }

  #write(policy: SelfFencingPolicy | undefined): Promise<Lease> {
    const { client, clock, holder } = this.#deps;
    const node = this.#node;
    if (node === undefined) return Promise.reject(new Error('the node is not known'));
    const next = nextLease(this.#lease, node, { holder, policy, renewTime: formatMicroTime(clock.now()) });
    return this.#lease === undefined ? client.create(LEASES, next) : client.update(LEASES, next);
  }

  async #isGuarded(): Promise<boolean> {
    try {
      await this.#deps.guard.ready();
      return true;
    } catch (error) {
      this.#deps.log.warn('no watchdog runs: the node promises nothing', { error });
      return false;
    }
  }

  #isPast(): boolean {
    const { guard } = this.#deps;
    const deadline = guard.deadline();
    return deadline !== undefined && guard.now() >= deadline;
  }

  #lapse(why: string): void {
    const { guard, log, policy, nodeName } = this.#deps;
    log.error('the promise of this node has lapsed: what it covers is ended', { node: nodeName, why });
    if (!this.#isPast()) guard.extend(guard.now(), policy);
    this.#become('lapsed');
  }

  async #isEverythingDead(): Promise<boolean> {
    const { guard, runtime, policy } = this.#deps;
    const deadline = guard.deadline();
    if (deadline !== undefined && guard.now() < deadline + LAPSE_SETTLE_MS) return false;
    const sandboxes = await runtime.list();
    return sandboxes.every(
      ({ config, containers }) =>
        !isCoveredBy(policy, config.fencing) || containers.every(({ state }) => state !== 'running'),
    );
  }

  #become(state: PromiseState): void {
    if (this.#state === state) return;
    this.#state = state;
    this.#deps.onChange();
  }

  /** An answer that does not come is a failure whose outcome is unknown. */
  async #bounded<T>(answer: Promise<T>, ms = PROMISE_ANSWER_MS): Promise<T> {
    let expire: (error: Error) => void = () => {};
    const late = new Promise<never>((_, reject) => {
      expire = reject;
    });
    const timer = this.#deps.clock.timer(ms, () => expire(new Error(`the API did not answer in ${ms} ms`)));
    try {
      return await Promise.race([answer, late]);
    } finally {
      timer.cancel();
    }
  }
}
