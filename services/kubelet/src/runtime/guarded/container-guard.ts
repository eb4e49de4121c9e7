import type { Clock, Log, Timer } from '@holdfast/platform';
import { type ClassCgroups, COVERED_CLASSES, type CoveredClass } from '../class-cgroups.ts';
import { type FencingClass, type FencingPolicy, isCoveredBy, isPast, mayStart } from '../fencing-deadline.ts';
import { RuntimeError } from '../port.ts';
import type { ExclusiveGuard } from '../port-guard.ts';
import type { DeadlineFile } from '../process/deadline-file.ts';
import { EMPTY_LOOKS_MAX, EMPTY_POLL_MS } from './limits.ts';

export interface ContainerGuardDeps {
  readonly clock: Clock;
  readonly log: Log;
  /** Milliseconds of a clock that includes suspend. */
  readonly now: () => number;
  readonly groups: ClassCgroups;
  readonly file: DeadlineFile;
  /** Rejects when no watchdog runs beside the kubelet. */
  readonly watchdog: () => Promise<void>;
  /** Rejects when a covered container is outside the groups, or may be. */
  readonly placed: () => Promise<void>;
  /** False: every start that was sent has a known outcome. */
  readonly hasSentStarts: () => boolean;
  /** Resolves with the containers whose start was sent and has no known outcome. */
  readonly unsettledStarts: () => Promise<readonly string[]>;
}

/**
 * Ends the containers of a runtime at the deadline: it freezes and kills their control groups, which the watchdog does, too.
 * The kernel keeps a group frozen until nothing that was sent to the runtime before can start any more.
 */
export class ContainerGuard implements ExclusiveGuard {
  readonly #deps: ContainerGuardDeps;
  #timer: Timer | undefined;

  constructor(deps: ContainerGuardDeps) {
    this.#deps = deps;
  }

  now(): number {
    return this.#deps.now();
  }

  deadline(): number | undefined {
    return this.#deps.file.read()?.untilMs;
  }

  policy(): FencingPolicy | undefined {
    return this.#deps.file.read()?.policy;
  }

  async ready(): Promise<void> {
    await this.#deps.placed();
    await this.settle();
    await this.#deps.watchdog();
  }

  extend(untilMs: number, policy: FencingPolicy): void {
    this.#deps.file.write({ untilMs, policy });
    this.#timer?.cancel();
    if (untilMs <= this.now()) this.#end(policy);
    else this.#enforceAt(untilMs);
  }

  withdraw(): void {
    this.#timer?.cancel();
    this.#deps.file.remove();
  }

  /** A frozen group stays while a start is on its way: the runtime would create the group anew, and not frozen. */
  close(): void {
    const { groups, hasSentStarts } = this.#deps;
    this.#timer?.cancel();
    const isNeeded = (each: CoveredClass): boolean => groups.isFrozen(each) && hasSentStarts();
    groups.remove(COVERED_CLASSES.filter((each) => !isNeeded(each)));
  }

  /** Rejects with `Fenced` unless a container of this class may start now. */
  check(fencing: FencingClass | undefined, startBeforeMs: number | undefined): void {
    if (mayStart(this.#deps.file.read(), fencing, { startBeforeMs, nowMs: this.now() })) return;
    throw new RuntimeError('Fenced', 'the deadline of the node has passed, or the API has not confirmed this start');
  }

  /** Thaws the groups of these classes that a deadline froze. Rejects with `Fenced` while a start of that time may still happen. */
  async settle(classes: readonly CoveredClass[] = COVERED_CLASSES): Promise<void> {
    const { groups } = this.#deps;
    const frozen = classes.filter((each) => groups.isFrozen(each));
    if (frozen.length === 0) return;
    for (const each of frozen) groups.end(each);
    const unsettled = await this.#deps.unsettledStarts();
    if (unsettled.length > 0)
      throw new RuntimeError(
        'Fenced',
        `the container runtime has not reported the outcome of a start that was sent before the deadline: ${unsettled.join(', ')}`,
      );
    await this.#untilEmpty(frozen);
    for (const each of frozen) if (!this.#isEnding(each)) groups.thaw(each);
  }

  /** A group that another call has thawed meanwhile may have new processes. */
  async #untilEmpty(frozen: readonly CoveredClass[]): Promise<void> {
    const { clock, groups } = this.#deps;
    const isEnding = (each: CoveredClass): boolean => groups.isFrozen(each) && groups.isPopulated(each);
    for (let look = 1; frozen.some(isEnding); look++) {
      if (look >= EMPTY_LOOKS_MAX) throw new RuntimeError('Fenced', 'processes that the deadline killed still exist');
      await clock.sleep(EMPTY_POLL_MS);
    }
  }

  #isEnding(fencing: CoveredClass): boolean {
    const deadline = this.#deps.file.read();
    return deadline !== undefined && isPast(deadline, this.now()) && isCoveredBy(deadline.policy, fencing);
  }

  /** The timer belongs to another clock than the deadline: it may fire early. */
  #enforceAt(untilMs: number): void {
    this.#timer = this.#deps.clock.timer(untilMs - this.now(), () => {
      const deadline = this.#deps.file.read();
      if (deadline === undefined) return;
      if (!isPast(deadline, this.now())) return this.#enforceAt(deadline.untilMs);
      try {
        this.#end(deadline.policy);
      } catch (error) {
        this.#deps.log.error('the pods that the promise covers were not ended; the watchdog tries it, too', { error });
      }
    });
  }

  #end(policy: FencingPolicy): void {
    for (const each of COVERED_CLASSES) if (isCoveredBy(policy, each)) this.#deps.groups.end(each);
  }
}
