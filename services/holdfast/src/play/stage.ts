import { StatusError } from '@holdfast/machinery';
import { type Clock, formatTime, type Log, type Random, type Service, type Timer } from '@holdfast/platform';
import { Actor, type Incarnation } from './actor.ts';
import type { Life } from './gate.ts';
import { kindOf, type Step } from './kinds.ts';
import { FAULTS_MAX } from './limits.ts';
import { unfit } from './step.ts';

export interface StageDeps {
  readonly clock: Clock;
  readonly random: Random;
  readonly log: Log;
}

/** A fault that lasts. */
export interface Fault {
  readonly id: string;
  readonly do: string;
  readonly target?: string;
  readonly begunAt: string;
  /** Absent: when somebody ends it. */
  readonly endsAt?: string;
}

interface Lasting {
  readonly fault: Fault;
  readonly timer: Timer | undefined;
  readonly end: () => void;
}

/** The components of a cluster that was started for faults, and the faults that last. */
export class Stage implements Service {
  readonly name = 'faults';
  readonly #deps: StageDeps;
  readonly #actors = new Map<string, Actor>();
  readonly #lasting = new Map<string, Lasting>();
  #count = 0;

  constructor(deps: StageDeps) {
    this.#deps = deps;
  }

  /** A component that faults may strike from now on. */
  cast(name: string, kind: Actor['kind'], create: (life: Life, isFirst: boolean) => Incarnation): Service {
    const actor = new Actor({ ...this.#deps, name, kind, create });
    this.#actors.set(name, actor);
    return actor;
  }

  targets(): readonly { readonly name: string; readonly kind: Actor['kind'] }[] {
    return [...this.#actors.values()].map(({ name, kind }) => ({ name, kind }));
  }

  faults(): readonly Fault[] {
    return [...this.#lasting.values()].map(({ fault }) => fault);
  }

  begin(step: Step): Fault {
    if (this.#lasting.size >= FAULTS_MAX) {
      throw new StatusError({
        code: 429,
        reason: 'TooManyRequests',
        message: `${FAULTS_MAX} faults last already: end one`,
      });
    }
    const actors = this.#struck(step);
    this.#refuseTwice(step, actors);
    const { clock } = this.#deps;
    const { forMs } = step;
    const id = `fault-${++this.#count}`;
    const now = clock.now();
    const fault: Fault = {
      id,
      do: step.do,
      ...(step.target === undefined ? {} : { target: step.target }),
      begunAt: formatTime(now),
      ...(forMs === undefined ? {} : { endsAt: formatTime(now + forMs) }),
    };
    const ends = actors.map((actor) => kindOf(step.do).begin(actor, step.value ?? 0));
    const end = (): void => {
      for (const each of ends) each();
    };
    const timer = forMs === undefined ? undefined : clock.timer(forMs, () => this.end(id));
    this.#lasting.set(id, { fault, timer, end });
    return fault;
  }

  /** False: there is no such fault (any more). */
  end(id: string): boolean {
    const lasting = this.#lasting.get(id);
    if (lasting === undefined) return false;
    this.#lasting.delete(id);
    lasting.timer?.cancel();
    lasting.end();
    return true;
  }

  endAll(): void {
    for (const id of this.#lasting.keys()) this.end(id);
  }

  start(): Promise<void> {
    return Promise.resolve();
  }

  /** Before the components: they stop in order only when they reach each other. */
  stop(): Promise<void> {
    this.endAll();
    return Promise.resolve();
  }

  #struck({ do: name, target }: Step): readonly Actor[] {
    const { targets } = kindOf(name);
    if (targets === 'none') return [...this.#actors.values()];
    const actor = this.#actors.get(target ?? '');
    if (actor !== undefined && (targets === 'process' || targets === actor.kind)) return [actor];
    const known = this.targets().filter(({ kind }) => targets === 'process' || targets === kind);
    const names = known.slice(0, NAMES_SHOWN).map((each) => each.name);
    throw unfit(
      `${name} has no such target here: ${names.length === 0 ? 'this cluster has none' : `use ${names.join(', ')}`}`,
    );
  }

  /** A dead process cannot be stopped, and a stopped one would end only when it continues. */
  #refuseTwice({ do: name }: Step, actors: readonly Actor[]): void {
    const kills = name === 'crash' || name === 'kubelet-down';
    if (!kills && name !== 'pause') return;
    const busy = actors.find((actor) => actor.isDown || (kills && actor.gate.has('held')));
    if (busy === undefined) return;
    const message = `${busy.name} is ${busy.isDown ? 'killed' : 'paused'} already: end that fault first`;
    throw new StatusError({ code: 409, reason: 'Conflict', message });
  }
}

const NAMES_SHOWN = 10;
