import {
  LEASES,
  type Lease,
  NODE_LEASES_NAMESPACE,
  type Node,
  type NodePromise,
  promiseOf,
  type SelfFencingPolicy,
} from '@holdfast/api';
import type { ApiClient } from '@holdfast/client';
import { StatusError } from '@holdfast/machinery';
import { type Clock, describeError, formatMicroTime, type Log, type Timer } from '@holdfast/platform';
import { LEASE_RENEW_MS } from '../limits.ts';
import { deadlineAfter, type FencingPolicy, isCoveredBy, widest } from '../runtime/fencing-deadline.ts';
import type { ContainerRuntime } from '../runtime/port.ts';
import type { ExclusiveGuard } from '../runtime/port-guard.ts';
import { bounded } from './bounded.ts';
import {
  GUARD_READY_MS,
  LAPSE_LOOK_MS,
  LAPSE_SETTLE_MS,
  PROMISE_ANSWER_MS,
  PROMISE_RENEW_MS,
  PROMISE_RETRY_MS,
  PROMISE_SECONDS,
  WITHDRAW_MS,
  WITHDRAW_TRIES,
} from './limits.ts';
import { nextLease } from './promised-lease.ts';

export interface PromiseKeeperDeps {
  readonly client: ApiClient;
  readonly clock: Clock;
  readonly log: Log;
  readonly nodeName: string;
  /** The machine and its boot. */
  readonly holder: string;
  /** Undefined: nothing is promised from now on, and what an earlier kubelet promised is taken back. */
  readonly policy: SelfFencingPolicy | undefined;
  /** How long the promise holds after a renewal. Default: 8. */
  readonly promiseSeconds?: number | undefined;
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

const DEADLINE_MISSING = 'its deadline is missing on this machine';

/** Renews the node's lease and with it the promise, and moves the guard's deadline after each acknowledged renewal. */
export class PromiseKeeper {
  readonly #deps: PromiseKeeperDeps;
  readonly #promiseSeconds: number;
  #state: PromiseState = 'unknown';
  /** The coverage of the lease: more than `policy` while one of another policy may be in force. */
  #covers: FencingPolicy | undefined;
  #node: Node | undefined;
  /** The API's state after the last response; every write replaces exactly this. */
  #lease: Lease | undefined;
  #timer: Timer | undefined;
  #turning: Promise<void> | undefined;
  #stopped = false;
  /** The reason that was logged last: it is asked at every renewal. */
  #toldRefusal: string | undefined;

  constructor(deps: PromiseKeeperDeps) {
    this.#deps = deps;
    this.#promiseSeconds = deps.promiseSeconds ?? PROMISE_SECONDS;
  }

  /** The node exists and is ours. The first call begins the renewals. */
  begin(node: Node): void {
    const isFirst = this.#node === undefined;
    if (this.#node !== undefined && this.#node.metadata.uid !== node.metadata.uid) this.#lease = undefined;
    this.#node = node;
    if (isFirst) this.#turnSoon();
  }

  /** The pods that the node wants to promise to end. */
  get policy(): SelfFencingPolicy | undefined {
    return this.#deps.policy;
  }

  /** True while a promise is in force, as the node reports. */
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
    if (this.#state !== 'held' || this.#isPast()) return;
    try {
      await bounded(this.#deps.clock, WITHDRAW_MS, this.#takeBack());
      this.#deps.guard.withdraw();
    } catch (error) {
      this.#deps.log.warn('the promise could not be withdrawn: exclusive pods end at its deadline', { error });
    }
  }

  /** After a failed write the stored lease may differ from the one that is known here: it is read again. */
  async #takeBack(): Promise<void> {
    for (let tries = 1; ; tries++) {
      if (this.#lease === undefined) await this.#look();
      if (this.#state !== 'held') throw new Error('the control plane has broken the promise');
      try {
        await this.#write(undefined);
        return;
      } catch (error) {
        this.#lease = undefined;
        if (tries >= WITHDRAW_TRIES) throw error;
      }
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
    this.#checkDeadline();
    if (this.#lease === undefined) await this.#look();
    if (this.#state === 'lapsed' && !(await this.#isEverythingDead())) return LAPSE_LOOK_MS;
    await this.#renew();
    const renewMs = this.#deps.policy === undefined ? LEASE_RENEW_MS : PROMISE_RENEW_MS;
    return Math.max(LAPSE_LOOK_MS, renewMs - (this.#deps.guard.now() - beganAtMs));
  }

  /** Without its deadline nothing ends the covered pods: that is a lapse, too. */
  #checkDeadline(): void {
    if (this.#state !== 'held' && this.#state !== 'lapsed') return;
    if (this.#deps.guard.deadline() === undefined) this.#lapse(DEADLINE_MISSING);
    else if (this.#state === 'held' && this.#isPast()) this.#lapse('the API acknowledged no renewal in time');
  }

  async #look(): Promise<void> {
    const { client, clock, nodeName } = this.#deps;
    const target = { namespace: NODE_LEASES_NAMESPACE, name: nodeName };
    this.#lease = await bounded(clock, PROMISE_ANSWER_MS, client.find(LEASES, target));
    const promise = promiseOf(this.#lease);
    if (this.#state === 'unknown') this.#takeUp(promise);
    if (promise?.isBroken === true && this.#state !== 'lapsed') this.#lapse('the control plane has broken the promise');
  }

  /** Goes on from what the kubelet before this one left. */
  #takeUp(promise: NodePromise | undefined): void {
    const { guard } = this.#deps;
    const deadline = guard.deadline();
    this.#covers = widest(guard.policy(), promise?.policy);
    if (this.#covers === undefined) this.#become('none');
    else if (deadline === undefined) this.#lapse(DEADLINE_MISSING);
    else if (this.#isPast()) this.#lapse('its deadline passed while no kubelet renewed it');
    else this.#become('held');
  }

  async #renew(): Promise<void> {
    const { clock, guard } = this.#deps;
    const policy = await this.#guardedPolicy();
    const sentAtMs = guard.now();
    // The first promise may be in force without our hearing of it: its deadline counts from here.
    const isFirst = policy !== undefined && this.#state === 'none';
    if (isFirst) this.#hold(sentAtMs, policy);
    else if (policy !== undefined) this.#widen(sentAtMs, policy);
    const writing = this.#write(policy);
    if (policy !== undefined) void writing.then(() => this.#acknowledgedLate(sentAtMs, policy)).catch(() => undefined);
    try {
      this.#lease = await bounded(clock, PROMISE_ANSWER_MS, writing);
    } catch (error) {
      if (isFirst && error instanceof StatusError && error.code < 500) this.#release();
      throw error;
    }
    if (policy === undefined) this.#release();
    else this.#hold(sentAtMs, policy);
  }

  /** A write that covers more, or promises for less time, may be in force without our hearing of it: the guard does so before it is sent. */
  #widen(sentAtMs: number, policy: FencingPolicy): void {
    const { guard } = this.#deps;
    const covers = widest(this.#covers, policy) ?? policy;
    this.#covers = covers;
    const latest = this.#deadlineAfter(sentAtMs);
    const untilMs = this.#state === 'held' ? guard.deadline() : undefined;
    const isShorter = untilMs !== undefined && latest < untilMs;
    if (guard.policy() === covers && !isShorter) return;
    guard.extend(Math.min(untilMs ?? latest, latest), covers);
  }

  /** It counts for as long as it would have in time, and only for a promise that still holds: an API that is slow is not away. */
  #acknowledgedLate(sentAtMs: number, policy: FencingPolicy): void {
    const { guard } = this.#deps;
    const until = this.#deadlineAfter(sentAtMs);
    if (this.#state !== 'held' || this.#stopped || this.#isPast() || until <= (guard.deadline() ?? until)) return;
    this.#hold(sentAtMs, policy);
  }

  #hold(sentAtMs: number, policy: FencingPolicy): void {
    this.#deps.guard.extend(this.#deadlineAfter(sentAtMs), policy);
    this.#covers = policy;
    this.#become('held');
  }

  #deadlineAfter(sentAtMs: number): number {
    return deadlineAfter(sentAtMs, this.#promiseSeconds * 1000);
  }

  #release(): void {
    this.#deps.guard.withdraw();
    this.#covers = undefined;
    this.#become('none');
  }

  #write(policy: SelfFencingPolicy | undefined): Promise<Lease> {
    const { client, clock, holder } = this.#deps;
    const node = this.#node;
    if (node === undefined) return Promise.reject(new Error('the node is not known'));
    const words = { holder, policy, promiseSeconds: this.#promiseSeconds, renewTime: formatMicroTime(clock.now()) };
    const next = nextLease(this.#lease, node, words);
    return this.#lease === undefined ? client.create(LEASES, next) : client.update(LEASES, next);
  }

  /** Returns the next promise; `undefined` for none. */
  async #guardedPolicy(): Promise<SelfFencingPolicy | undefined> {
    const { clock, guard, log, policy } = this.#deps;
    if (policy === undefined) return undefined;
    try {
      await bounded(clock, GUARD_READY_MS, guard.ready(), 'the guard of this machine');
      this.#toldRefusal = undefined;
      return policy;
    } catch (error) {
      const refusal = describeError(error);
      if (refusal !== this.#toldRefusal) log.warn('the node makes no promise: nothing would keep it', { error });
      this.#toldRefusal = refusal;
      return undefined;
    }
  }

  #isPast(): boolean {
    const { guard } = this.#deps;
    const deadline = guard.deadline();
    return deadline !== undefined && guard.now() >= deadline;
  }

  #lapse(why: string): void {
    const { guard, log, nodeName } = this.#deps;
    const covers = this.#covers ?? 'all';
    log.error('the promise of this node has expired: ending the pods that it covers', {
      node: nodeName,
      why,
      policy: covers,
    });
    const isKept = guard.deadline() !== undefined && this.#isPast() && guard.policy() === covers;
    if (!isKept) guard.extend(guard.now(), covers);
    this.#become('lapsed');
  }

  async #isEverythingDead(): Promise<boolean> {
    const { guard, runtime } = this.#deps;
    const deadline = guard.deadline();
    if (deadline === undefined || guard.now() < deadline + LAPSE_SETTLE_MS) return false;
    const sandboxes = await runtime.list();
    return sandboxes.every(
      ({ config, containers }) =>
        !isCoveredBy(this.#covers ?? 'all', config.fencing) || containers.every(({ state }) => state !== 'running'),
    );
  }

  #become(state: PromiseState): void {
    if (this.#state === state) return;
    this.#state = state;
    this.#deps.onChange();
  }
}
