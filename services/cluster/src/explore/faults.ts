import type { Clock } from '@holdfast/platform';
import type { RunningCluster } from '../cluster.ts';
import type { Lens, LensOptions, Point } from '../lens/index.ts';
import { describePlan, type EventMark, type Plan, type WriteMark } from './plans.ts';
import type { Program } from './program.ts';
import type { Trace } from './trace.ts';

export interface FaultsDeps {
  readonly cluster: RunningCluster;
  readonly program: Program;
  readonly trace: Trace;
  readonly user: string;
  readonly clock: Clock;
}

/** A view that lags is held for so many steps behind the one in which it began to lag. */
const STEPS_HELD = 1;

/** Brings the disturbance of a plan into a run. */
export class Faults {
  readonly #deps: FaultsDeps;
  #plan: Plan | undefined;
  #lens: Lens | undefined;
  /** The step in which the fault began. */
  #since: number | undefined;
  #beganMs: number | undefined;

  constructor(deps: FaultsDeps) {
    this.#deps = deps;
  }

  /** When the fault came. */
  get beganMs(): number | undefined {
    return this.#beganMs;
  }

  /** Before the operator starts. */
  async prepare(plan: Plan): Promise<void> {
    this.#plan = plan;
    const options = this.#lensOf(plan);
    if (options !== undefined) this.#lens = await this.#deps.cluster.lens(options);
  }

  /** The operator rests after a step. `rest` waits until it rests again. */
  async afterStep(step: number, rest: () => Promise<unknown>): Promise<void> {
    const plan = this.#plan;
    if (plan === undefined) return;
    if (plan.kind === 'timeTravel' && plan.step === step) await this.#travel(plan.event, rest);
    if (plan.kind === 'expired' && plan.step === step) {
      this.#begin();
      await this.#lens?.on();
      await rest();
    }
    const isHeld = (plan.kind === 'stale' || plan.kind === 'unobserved') && this.#since !== undefined;
    if (isHeld && step >= (this.#since ?? 0) + STEPS_HELD) {
      this.#release();
      await rest();
    }
  }

  end(): void {
    if (this.#plan?.kind === 'stale' || this.#plan?.kind === 'unobserved') this.#release();
  }

  #lensOf(plan: Plan): LensOptions | undefined {
    const { user } = this.#deps;
    const onHit = (): void => this.#begin();
    switch (plan.kind) {
      case 'crash':
        return { kind: 'crash', moment: plan.moment, ...this.#ofWrite(plan.write), onHit: () => this.#kill() };
      case 'lostAnswer':
        return { kind: 'crash', moment: 'after', ...this.#ofWrite(plan.write), onHit };
      case 'conflict':
        return { kind: 'conflict', ...this.#ofWrite(plan.write), onHit };
      case 'throttled':
        return { kind: 'throttled', ...this.#ofWrite(plan.write), onHit };
      case 'stale':
        return { kind: 'stale', user, resources: [plan.event.resource], point: pointOf(plan.event), onHit };
      case 'unobserved':
        return {
          kind: 'unobserved',
          user,
          resources: [plan.event.resource],
          point: pointOf(plan.event),
          flushMs: NEVER_MS,
          onHit,
        };
      case 'expired':
        return { kind: 'expired', user, isOn: false };
      case 'timeTravel':
        return undefined;
    }
  }

  #ofWrite({ verb, resource, namespace, name, nth }: WriteMark) {
    const { user } = this.#deps;
    return { user, verbs: [verb], resources: [resource], namespace, name, skip: nth - 1, times: 1 };
  }

  async #kill(): Promise<void> {
    this.#begin();
    const { program } = this.#deps;
    await program.kill();
    program.start();
  }

  async #travel({ resource, namespace, name, nth }: EventMark, rest: () => Promise<unknown>): Promise<void> {
    const { cluster, program, trace, user } = this.#deps;
    const event = trace.events.find(
      (each) => each.resource === resource && each.namespace === namespace && each.name === name && each.nth === nth,
    );
    if (event === undefined) return;
    await program.kill();
    this.#begin();
    const revision = Math.max(1, event.revision - 1);
    const lens = await cluster.lens({ kind: 'timeTravel', user, resources: [resource], revision });
    program.start();
    await rest();
    trace.note('the cache catches up');
    lens.dispose();
    await rest();
  }

  #release(): void {
    if (this.#lens?.isOn !== true) return;
    this.#deps.trace.note('the watch catches up');
    this.#lens.off();
  }

  #begin(): void {
    this.#since ??= this.#deps.trace.step;
    this.#beganMs ??= this.#deps.clock.now();
    if (this.#plan !== undefined) this.#deps.trace.note(`FAULT: ${describePlan(this.#plan)}`);
  }
}

const NEVER_MS = 3_600_000;

const pointOf = ({ resource, namespace, name, nth }: EventMark): Point => ({ resource, namespace, name, nth });
