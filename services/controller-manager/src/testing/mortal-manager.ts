import { createSeededRandom, type Random } from '@holdfast/platform';
import type { ControllerDefinition } from '../common/context.ts';
import type { ModelInformers } from './api-model.ts';
import { createWorld, DrivenController, settleAll, type World } from './harness.ts';

class Crash extends Error {}

/** The crash point of a manager: at its n-th write, before or after it takes effect. */
export interface CrashPoint {
  readonly write: number;
  readonly counts: boolean;
}

/** Boots until a turn has come to its end; a crash point is met once. */
const BOOTS_PER_TURN = 3;

/** A manager that dies for good at one of its writes, and is started again with nothing but the API. */
export class MortalManager {
  readonly world: World = createWorld();
  readonly #definitions: readonly ControllerDefinition[];
  #controllers: readonly DrivenController[];
  #writes = 0;
  #isDead = false;

  constructor(definitions: readonly ControllerDefinition[], crash?: CrashPoint) {
    this.#definitions = definitions;
    this.#controllers = this.#boot();
    this.world.api.beforeWrite = ({ identity }) => {
      if (identity === 'user') return;
      this.#writes++;
      this.#die(crash, false);
    };
    this.world.api.afterWrite = ({ identity }) => {
      if (identity !== 'user') this.#die(crash, true);
    };
  }

  get writes(): number {
    return this.#writes;
  }

  async turn(): Promise<void> {
    for (let boot = 0; boot < BOOTS_PER_TURN; boot++) {
      await settleAll(this.#controllers, () => this.#isDead);
      if (!this.#isDead) return;
      for (const controller of this.#controllers) controller.kill();
      this.#isDead = false;
      this.#controllers = this.#boot();
    }
  }

  #die(crash: CrashPoint | undefined, counts: boolean): void {
    if (this.#isDead) throw new Crash('the process is gone');
    if (this.#writes !== crash?.write || counts !== crash.counts) return;
    this.#isDead = true;
    throw new Crash('the process dies here');
  }

  #boot(): readonly DrivenController[] {
    return this.#definitions.map((definition) => new DrivenController(this.world, definition));
  }
}

/** Two concurrent managers without leader election. Each has its own caches, which stall, catch up, and lose events. */
export class RivalManagers {
  readonly world: World = createWorld();
  readonly #random: Random;
  readonly #caches: readonly ModelInformers[];
  readonly #kinds: ReadonlySet<ControllerDefinition['watches'][number]>;
  readonly #controllers: readonly DrivenController[];

  constructor(definitions: readonly ControllerDefinition[], seed: number) {
    this.#random = createSeededRandom(seed, 'rivals');
    this.#caches = [this.world.api.newInformers(), this.world.api.newInformers()];
    this.#kinds = new Set(definitions.flatMap(({ watches }) => watches));
    this.#controllers = this.#caches.flatMap((informers) =>
      definitions.map((definition) => new DrivenController(this.world, definition, informers)),
    );
  }

  async turn(): Promise<void> {
    for (let stall = 0; stall < STALLS_PER_TURN; stall++) {
      for (const cache of this.#allCaches()) if (this.#random.int(3) === 0) cache.freeze();
      await this.#work();
      for (const cache of this.#allCaches()) cache.thaw(this.#random.int(4));
      await this.#work();
      for (const cache of this.#allCaches()) {
        if (this.#random.int(2) === 0) cache.thaw();
        else cache.jump();
      }
    }
    await settleAll(this.#controllers);
  }

  /** A number of passes of either manager; with stale caches a conflict may repeat. */
  async #work(): Promise<void> {
    for (let step = 0; step < STEPS_PER_STALL; step++) {
      await this.#controllers[this.#random.int(this.#controllers.length)]?.step();
    }
  }

  *#allCaches(): Generator<ReturnType<ModelInformers['of']>> {
    for (const informers of this.#caches) for (const kind of this.#kinds) yield informers.of(kind);
  }
}

const STALLS_PER_TURN = 2;
const STEPS_PER_STALL = 40;
