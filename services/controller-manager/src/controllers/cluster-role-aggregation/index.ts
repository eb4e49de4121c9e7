import { CLUSTER_ROLES, type ClusterRole } from '@holdfast/api';
import type { Clock } from '@holdfast/platform';
import type { ControllerContext, ControllerDefinition, Loop } from '../../common/context.ts';
import { isTerminating, nameOf } from '../../common/meta.ts';
import { unlessChanged } from '../../common/writes.ts';
import { WORKERS_PER_CONTROLLER } from '../../limits.ts';
import { decide } from './decide.ts';

/** Roles that consist of others. Admission lets controllers write nothing but what such a role selects. */
export const clusterRoleAggregationController: ControllerDefinition = {
  name: 'clusterrole-aggregation',
  component: 'clusterrole-aggregation-controller',
  identity: 'manager',
  watches: [CLUSTER_ROLES],
  create: (context) => [createLoop(context)],
};

/**
 * Two controllers of which one knows an older state of a selected role answer each other's writes: as fast as the network,
 * if nobody paused.
 */
const WRITES_AT_ONCE = 5;
const PAUSE_MS = 1_000;

function createLoop({ informers, client, clock }: ControllerContext): Loop {
  const pauses = new WritePauses(clock);
  const roles = informers.of(CLUSTER_ROLES);
  const aggregated = (): readonly string[] =>
    roles
      .list()
      .filter(({ aggregationRule }: ClusterRole) => aggregationRule !== undefined)
      .map(nameOf);
  return {
    name: 'clusterrole-aggregation',
    workers: WORKERS_PER_CONTROLLER,
    initialKeys: aggregated,
    wake: (enqueue) => [roles.onChange(() => aggregated().forEach(enqueue))],
    reconcile: async (name) => {
      const role = roles.get({ name });
      if (role === undefined || isTerminating(role)) {
        pauses.forget(name);
        return {};
      }
      const changed = decide(role, roles.list());
      if (changed === undefined) return {};
      const requeueAfterMs = pauses.untilNext(name);
      if (requeueAfterMs > 0) return { requeueAfterMs };
      await unlessChanged(() => client.update(CLUSTER_ROLES, changed));
      return {};
    },
  };
}

/** A role may be written a few times in a row, and then once in a while. */
class WritePauses {
  readonly #clock: Clock;
  readonly #written = new Map<string, readonly number[]>();

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** 0: now, and that counts as a write. */
  untilNext(name: string): number {
    const now = this.#clock.monotonic();
    const lately = (this.#written.get(name) ?? []).filter((atMs) => now - atMs < PAUSE_MS);
    const [first = now] = lately;
    if (lately.length >= WRITES_AT_ONCE) return first + PAUSE_MS - now;
    this.#written.set(name, [...lately, now]);
    return 0;
  }

  forget(name: string): void {
    this.#written.delete(name);
  }
}
