import { createSilentLog } from '@holdfast/platform';
import { createVirtualClock, type VirtualClock } from '@holdfast/platform/testing';
import { cacheIndexesOf } from '../common/cache-indexes.ts';
import type { ControllerContext, ControllerDefinition, Loop } from '../common/context.ts';
import { nameOf } from '../common/meta.ts';
import { againAfterRefusal } from '../common/refusals.ts';
import { ApiModel } from './api-model.ts';

export interface World {
  readonly clock: VirtualClock;
  readonly api: ApiModel;
}

export function createWorld(): World {
  const clock = createVirtualClock();
  return { clock, api: new ApiModel(clock, cacheIndexesOf) };
}

const PASSES_UNTIL_RESTLESS = 2_000;

/** A controller whose queue the test turns by hand, one key at a time. */
export class DrivenController {
  readonly #loops: readonly { readonly loop: Loop; readonly due: Set<string>; readonly later: Map<string, number> }[];
  readonly #stops: (() => void)[] = [];
  readonly #world: World;
  readonly errors: unknown[] = [];
  #turn = 0;

  constructor(
    world: World,
    definition: ControllerDefinition,
    informers = world.api.informers,
    kinds: Pick<ControllerContext, 'customKinds' | 'aggregatedKinds'> = {},
  ) {
    this.#world = world;
    const context = contextOf(world, definition.component, informers);
    this.#loops = definition.create({ ...context, ...kinds }).map((created) => {
      const loop = { ...created, reconcile: againAfterRefusal(created.reconcile) };
      const due = new Set<string>();
      this.#stops.push(...loop.wake((key) => due.add(key)));
      for (const key of loop.initialKeys()) due.add(key);
      return { loop, due, later: new Map<string, number>() };
    });
  }

  /** One pass over one key, of each loop in turn; false when nothing is due. A pass that fails makes its key due again. */
  async step(): Promise<boolean> {
    this.#turn += 1;
    const first = this.#turn % this.#loops.length;
    for (const { loop, due, later } of [...this.#loops.slice(first), ...this.#loops.slice(0, first)]) {
      for (const [key, at] of later) if (at <= this.#world.clock.monotonic()) due.add(key);
      const [key] = due;
      if (key === undefined) continue;
      due.delete(key);
      later.delete(key);
      try {
        const { requeueAfterMs } = await loop.reconcile(key);
        if (requeueAfterMs !== undefined) later.set(key, this.#world.clock.monotonic() + requeueAfterMs);
      } catch (error) {
        this.errors.push(error);
        due.add(key);
      }
      return true;
    }
    return false;
  }

  /** Steps until nothing is due now. Throws when it never gets quiet: that is thrash. */
  async settle(): Promise<void> {
    for (let pass = 0; await this.step(); pass++) {
      if (pass > PASSES_UNTIL_RESTLESS) throw new Error(`does not settle: ${String(this.errors.at(-1))}`);
    }
  }

  /** The process is gone: nothing wakes it any more. */
  kill(): void {
    for (const stop of this.#stops) stop();
    for (const { due, later } of this.#loops) {
      due.clear();
      later.clear();
    }
  }
}

export function contextOf(world: World, identity: string, informers = world.api.informers): ControllerContext {
  return {
    clock: world.clock,
    log: createSilentLog(),
    client: world.api.client(identity),
    informers,
    events: {
      event: (about, { reason, message }) => void world.api.events.push({ about: nameOf(about), reason, message }),
    },
  };
}

/** Settles several controllers together: rounds of one step each, so that their writes interleave. */
export async function settleAll(
  controllers: readonly DrivenController[],
  isOver: () => boolean = () => false,
): Promise<void> {
  for (let round = 0; round < PASSES_UNTIL_RESTLESS; round++) {
    if (isOver()) return;
    let active = false;
    for (const controller of controllers) active = (await controller.step()) || active;
    if (!active) return;
  }
  throw new Error(`do not settle: ${controllers.map((c) => String(c.errors.at(-1))).join('; ')}`);
}
